//! `windlass artifacts`

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use windlass_core::files::{PathPatterns, is_reserved_path};
use windlass_core::id::StepIx;
use windlass_core::manifest::{EntryKind, Manifest, ManifestEntry};
use windlass_core::object::ObjectId;
use windlass_core::summary::{RunSummary, StepSummary};
use windlass_store::objects::tree::materialize_tree;
use windlass_store::objects::{ObjectStore, read_manifest};

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::output::sanitize_phrase;
use crate::cli::run_source::{BlockingRunSource, OriginArgs, step};

/// List and copy the files that steps handed on (`artifacts:`)
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  windlass artifacts ls                          files of the latest run
  windlass artifacts get latest build -o out     copies the files of `build` to the folder `out`
  windlass artifacts get latest build 'site/*.html'"
)]
pub(crate) struct ArtifactsArgs {
    #[command(subcommand)]
    command: ArtifactsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ArtifactsCommand {
    Ls(ArtifactsLsArgs),
    Get(ArtifactsGetArgs),
}

/// List the artifacts of a run, or of one of its steps
#[derive(Debug, clap::Args)]
struct ArtifactsLsArgs {
    /// List the artifacts of this run: its id, a prefix of it, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    run: String,
    /// List the artifacts of this step only
    #[arg(value_name = "STEP")]
    step: Option<String>,
    /// Print one JSON object per file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Copy the artifacts of a step to a folder
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Existing files are not overwritten: the command stops before it writes anything."
)]
struct ArtifactsGetArgs {
    /// Copy from this run: its id, a prefix of it, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// Copy the artifacts of this step; a cell is written `NAME[CELL]`
    #[arg(value_name = "STEP")]
    step: String,
    /// Copy only the paths that match this pattern, such as `site/**`; can be repeated
    #[arg(value_name = "PATH")]
    paths: Vec<String>,
    /// Write to this folder, which is created if it is missing
    #[arg(short, long, value_name = "FOLDER", default_value = ".")]
    output: PathBuf,
    #[command(flatten)]
    origin: OriginArgs,
}

/// Lists or copies artifacts.
pub(crate) fn run(args: &ArtifactsArgs, context: &CommandContext) -> Result<u8, CliError> {
    match &args.command {
        ArtifactsCommand::Ls(args) => list(args, context),
        ArtifactsCommand::Get(args) => copy(args, context),
    }
}

fn list(args: &ArtifactsLsArgs, context: &CommandContext) -> Result<u8, CliError> {
    let reading = BlockingRunSource::open(&args.origin, context)?;
    let known = reading.load_run(&args.run)?;
    let summary = &known.summary;
    let only = args.step.as_deref().map(|name| step(summary, name)).transpose()?;
    let of_node = |it: &StepSummary<'_>| {
        only.is_none_or(|only| it.ix() == only || is_cell_of(summary, it.ix(), only))
    };
    let steps: Vec<(String, ObjectId)> = summary
        .steps()
        .filter(of_node)
        .filter_map(|it| Some((it.name().to_owned(), it.output()?.artifacts?)))
        .collect();
    if steps.is_empty() {
        output::print_message(&format!("run {} has no artifacts", summary.run()));
        return Ok(0);
    }
    let store = reading.wait(reading.source.objects())?;
    let mut lines = Vec::new();
    for (name, id) in steps {
        let manifest = reading.runtime.block_on(manifest(&*store, &name, id))?;
        let files = manifest.entries().iter().filter(|entry| entry.kind != EntryKind::Folder);
        lines.extend(
            files.map(
                |entry| {
                    if args.json { as_json(&name, entry) } else { as_line(&name, entry) }
                },
            ),
        );
    }
    Ok(output::print_data(&lines.join("\n")))
}

/// Whether a node is a cell of a matrix.
fn is_cell_of(summary: &RunSummary, node: StepIx, matrix: StepIx) -> bool {
    let plan = summary.plan();
    plan.is_join(matrix) && plan.needs(matrix).iter().any(|edge| edge.step() == node)
}

fn as_line(step: &str, entry: &ManifestEntry) -> String {
    let path = sanitize_phrase(entry.path.as_str());
    match &entry.kind {
        EntryKind::File { size, .. } => format!("{size:>12}  {step}  {path}"),
        EntryKind::Symlink { target } => {
            format!("{:>12}  {step}  {path} -> {}", "link", sanitize_phrase(target))
        }
        EntryKind::Folder => path,
    }
}

fn as_json(step: &str, entry: &ManifestEntry) -> String {
    let mut line = json!({ "step": step, "path": entry.path.as_str() });
    match &entry.kind {
        EntryKind::File { size, executable, object } => {
            line["size"] = (*size).into();
            line["executable"] = (*executable).into();
            line["blake3"] = object.to_string().into();
        }
        EntryKind::Symlink { target } => line["target"] = Value::String(target.to_string()),
        EntryKind::Folder => {}
    }
    line.to_string()
}

fn copy(args: &ArtifactsGetArgs, context: &CommandContext) -> Result<u8, CliError> {
    let reading = BlockingRunSource::open(&args.origin, context)?;
    let known = reading.load_run(&args.run)?;
    let id = artifacts_of(&known.summary, &args.step)?;
    let store = reading.wait(reading.source.objects())?;
    let manifest = reading.runtime.block_on(manifest(&*store, &args.step, id))?;
    let manifest = selected(&manifest, &args.paths)?;
    refuse_reserved(&manifest)?;
    refuse_existing(&manifest, &args.output)?;
    let written = materialize_tree(&*store, &manifest, &args.output, None);
    reading.runtime.block_on(written).map_err(|error| CliError::unreachable(error.to_string()))?;
    let files = manifest.entries().iter().filter(|entry| entry.kind != EntryKind::Folder).count();
    let (bytes, folder) = (manifest.bytes(), args.output.display());
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    output::print_message(&format!("{files}, {bytes} bytes, copied to {folder}"));
    Ok(0)
}

fn artifacts_of(summary: &RunSummary, name: &str) -> Result<ObjectId, CliError> {
    let ix = step(summary, name)?;
    let output = summary.step(ix).and_then(|it| it.output()).and_then(|output| output.artifacts);
    output.ok_or_else(|| {
        let mut cells = summary.steps().filter(|it| is_cell_of(summary, it.ix(), ix));
        let error = CliError::usage(format!("`{name}` has no artifacts in run {}", summary.run()));
        match cells.next() {
            Some(cell) => error.hint(format!("name a cell of it, such as `{}`", cell.name())),
            None => error.hint(format!("`windlass artifacts ls {}` lists them", summary.run())),
        }
    })
}

async fn manifest(store: &dyn ObjectStore, step: &str, id: ObjectId) -> Result<Manifest, CliError> {
    let unavailable =
        |error: String| CliError::unreachable(format!("the artifacts of `{step}`: {error}"));
    let read = read_manifest(store, id).await.map_err(|error| unavailable(error.to_string()))?;
    read.map_err(|error| unavailable(error.to_string()))
}

/// Returns the entries that the patterns select, and the folders that contain them; everything without patterns.
fn selected(manifest: &Manifest, patterns: &[String]) -> Result<Manifest, CliError> {
    if patterns.is_empty() {
        return Ok(manifest.clone());
    }
    let patterns =
        PathPatterns::parse(patterns).map_err(|error| CliError::usage(error.to_string()))?;
    let files: Vec<&ManifestEntry> = manifest
        .entries()
        .iter()
        .filter(|entry| entry.kind != EntryKind::Folder && patterns.select(entry.path.as_str()))
        .collect();
    if files.is_empty() {
        return Err(
            CliError::usage("no artifact matches").hint("`windlass artifacts ls` lists them")
        );
    }
    let contains = |folder: &str| {
        files.iter().any(|file| {
            file.path.as_str().strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let entries = manifest.entries().iter().filter(|entry| match entry.kind {
        EntryKind::Folder => contains(entry.path.as_str()),
        EntryKind::File { .. } | EntryKind::Symlink { .. } => patterns.select(entry.path.as_str()),
    });
    Manifest::from_entries(entries.cloned().collect())
        .map_err(|error| CliError::unreachable(error.to_string()))
}

/// A file in `.git` could run with the user's next command.
fn refuse_reserved(manifest: &Manifest) -> Result<(), CliError> {
    let mut paths = manifest.entries().iter().map(|entry| entry.path.as_str());
    match paths.find(|path| is_reserved_path(path)) {
        None => Ok(()),
        Some(path) => Err(CliError::usage(format!(
            "the artifacts contain {}, in a folder of git or windlass",
            sanitize_phrase(path)
        ))
        .hint("name the paths to copy")),
    }
}

fn refuse_existing(manifest: &Manifest, folder: &Path) -> Result<(), CliError> {
    let files = manifest.entries().iter().filter(|entry| entry.kind != EntryKind::Folder);
    let mut existing =
        files.filter(|file| folder.join(file.path.as_str()).symlink_metadata().is_ok());
    let Some(first) = existing.next() else { return Ok(()) };
    let path = folder.join(first.path.as_str());
    let more = match existing.count() {
        0 => String::new(),
        more => format!(", and so do {more} others"),
    };
    let what = format!("{} exists already{more}", path.display());
    Err(CliError::usage(what).hint("name another folder with `-o FOLDER`"))
}
