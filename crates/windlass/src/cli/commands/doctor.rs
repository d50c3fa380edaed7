//! `windlass doctor`

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::problem::Severity;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::load::Loaded;
use crate::cli::output::{self, Ink};
use crate::cli::project::STORE;
use crate::cli::reading::runtime;
use crate::local::Stores;
use crate::worker::guard::Guard;
use crate::worker::labels;

/// A disk that needs longer than this for a sync makes every step wait.
const SLOW_SYNC: Duration = Duration::from_millis(10);

/// Syncs that are timed; the one in the middle counts.
const SYNCS: usize = 9;

/// Look at this machine: can windlass work here, and how well?
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass doctor")]
pub(crate) struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was found.
enum Finding {
    Good(String),
    Bad(String),
}

/// Looks at everything that a run needs. Fails if something is bad.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let root = root(context);
    let findings = [
        ("file", file(context)),
        ("store", store(&root)),
        ("disk", disk(&root)),
        ("guard", guard()?),
        ("labels", Finding::Good(labels::detect().to_string().replace(',', ", "))),
    ];
    let bad = findings.iter().any(|(_, finding)| matches!(finding, Finding::Bad(_)));
    if args.json {
        let told = output::data(&as_json(&findings).to_string());
        return Ok(if bad { crate::cli::exit::UNREACHABLE } else { told });
    }
    let lines = findings.iter().map(|(name, finding)| {
        let (ink, sign, text) = match finding {
            Finding::Good(text) => (Ink::Good, "ok ", text),
            Finding::Bad(text) => (Ink::Bad, "bad", text),
        };
        format!("{} {name:<7} {text}", context.out.paint(ink, sign))
    });
    let told = output::data(&lines.collect::<Vec<String>>().join("\n"));
    Ok(if bad { crate::cli::exit::UNREACHABLE } else { told })
}

fn as_json(findings: &[(&str, Finding)]) -> serde_json::Value {
    let objects = findings.iter().map(|(name, finding)| {
        let (ok, text) = match finding {
            Finding::Good(text) => (true, text),
            Finding::Bad(text) => (false, text),
        };
        ((*name).to_owned(), serde_json::json!({ "ok": ok, "text": text }))
    });
    serde_json::Value::Object(objects.collect())
}

fn root(context: &Context) -> PathBuf {
    let kept = |folder: &&Path| folder.join(STORE).is_dir();
    context.folder.ancestors().find(kept).unwrap_or(&context.folder).to_path_buf()
}

fn file(context: &Context) -> Finding {
    match Loaded::read(context, None, Severity::Note) {
        Ok(loaded) => Finding::Good(format!("{} is valid", loaded.project.shown)),
        Err(CliError::Pipeline(_)) => {
            Finding::Bad("it is wrong: see `windlass validate`".to_owned())
        }
        Err(_) => Finding::Good("none here yet: `windlass init` writes one".to_owned()),
    }
}

fn store(root: &Path) -> Finding {
    let folder = root.join(STORE);
    if !folder.exists() {
        return Finding::Good(format!("{} will be made by the first run", folder.display()));
    }
    match Stores::read(&folder) {
        Ok(stores) => match stores.warnings.first() {
            Some(warning) => Finding::Bad(warning.clone()),
            None => Finding::Good(format!("{} can be read", folder.display())),
        },
        Err(error) => Finding::Bad(error.to_string()),
    }
}

/// How long a commit takes here.
fn disk(root: &Path) -> Finding {
    match sync_time(root) {
        Ok(took) if took > SLOW_SYNC => {
            Finding::Bad(format!("a sync takes {took:.1?}: every step will wait for it"))
        }
        Ok(took) => Finding::Good(format!("a sync takes {took:.1?}")),
        Err(error) => Finding::Bad(format!("{} cannot be written: {error}", root.display())),
    }
}

fn sync_time(root: &Path) -> io::Result<Duration> {
    let path = root.join(format!(".windlass-doctor-{}", std::process::id()));
    let timed = File::create(&path).and_then(|mut file| {
        let mut took = Vec::with_capacity(SYNCS);
        for _ in 0..SYNCS {
            let began = Instant::now();
            file.write_all(&[0; 4096])?;
            file.sync_data()?;
            took.push(began.elapsed());
        }
        took.sort_unstable();
        Ok(took[SYNCS / 2])
    });
    drop(fs::remove_file(&path));
    timed
}

fn guard() -> Result<Finding, CliError> {
    Ok(runtime()?.block_on(async {
        let began = Instant::now();
        match Guard::start().await {
            Ok(guard) => {
                let took = began.elapsed();
                guard.end().await;
                Finding::Good(format!("steps can be started; their guard is up in {took:.1?}"))
            }
            Err(error) => Finding::Bad(format!("the process that starts steps fails: {error}")),
        }
    }))
}
