//! `windlass store check`

use std::path::Path;

use windlass_store::objects::{FolderObjects, ObjectCheck, ObjectError, check_objects};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::project::store_folder;
use crate::cli::run_source::{folder, runtime};
use crate::cli::{exit, output};

/// Maximum lines about missing objects: one lost pack can be thousands.
const MISSING_SHOWN_MAX: usize = 20;

/// Compare every object of a store with its hash, and look for missing ones
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with code 5 if an object is damaged or missing. Damaged objects are moved to the folder
objects/damaged of the store; the next run of the step that made one stores it again. Runs can
continue meanwhile.")]
pub(super) struct StoreCheckArgs {
    /// Check this store: a folder or sqlite:FOLDER (default: the store of this project)
    #[arg(long, value_name = "FOLDER")]
    store: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was found, and the packs that cannot be read.
struct StoreFindings {
    check: ObjectCheck,
    unreadable: Vec<String>,
}

/// Checks the objects and reports the result.
pub(super) fn run_check(args: &StoreCheckArgs, context: &CommandContext) -> Result<u8, CliError> {
    let folder = match &args.store {
        Some(store) => context.folder.join(store_folder(store)?),
        None => folder(None, context)?,
    };
    if !folder.is_dir() {
        let hint = "name its folder with --store; `windlass run` creates one in .windlass";
        let missing = format!("there is no store in {}", folder.display());
        return Err(CliError::usage(missing).hint(hint));
    }
    let findings = examine(&folder)?;
    let text = if args.json { findings.as_json().to_string() } else { findings.text() };
    let printed = output::print_data(&text);
    Ok(if findings.is_sound() { printed } else { exit::UNREACHABLE })
}

/// Checks a folder. A store without objects stays without.
fn examine(folder: &Path) -> Result<StoreFindings, CliError> {
    if !FolderObjects::exist_in(folder) {
        return Ok(StoreFindings { check: ObjectCheck::default(), unreadable: Vec::new() });
    }
    let failed = |error: ObjectError| CliError::unreachable(error.to_string());
    let objects = FolderObjects::open(folder).map_err(|error| failed(error.into()))?;
    let check = runtime()?.block_on(check_objects(&objects)).map_err(failed)?;
    Ok(StoreFindings { check, unreadable: objects.unreadable_packs().map_err(failed)? })
}

impl StoreFindings {
    fn is_sound(&self) -> bool {
        let ObjectCheck { damaged, missing, .. } = &self.check;
        damaged.is_empty() && missing.is_empty() && self.unreadable.is_empty()
    }

    fn text(&self) -> String {
        let ObjectCheck { objects, bytes, manifests, damaged, missing } = &self.check;
        let damaged = damaged.iter().map(|line| format!("damaged: {line}"));
        let unreadable = self.unreadable.iter().map(|line| format!("unreadable: {line}"));
        let shown = missing.iter().take(MISSING_SHOWN_MAX);
        let shown = shown.map(|(id, manifest)| format!("missing: {id}, in manifest {manifest}"));
        let more = missing.len().saturating_sub(MISSING_SHOWN_MAX);
        let more = (more > 0).then(|| format!("missing: {more} more; --json lists all"));
        let sound =
            format!("{objects} objects of {bytes} bytes are sound, {manifests} of them manifests");
        let lines = damaged.chain(unreadable).chain(shown).chain(more).chain([sound]);
        lines.collect::<Vec<_>>().join("\n")
    }

    fn as_json(&self) -> serde_json::Value {
        let ObjectCheck { objects, bytes, manifests, damaged, missing } = &self.check;
        let missing = missing.iter().map(|(id, manifest)| {
            serde_json::json!({ "object": id.to_string(), "manifest": manifest.to_string() })
        });
        serde_json::json!({
            "sound": self.is_sound(), "objects": objects, "bytes": bytes, "manifests": manifests,
            "damaged": damaged, "unreadable_packs": self.unreadable,
            "missing": missing.collect::<Vec<_>>(),
        })
    }
}
