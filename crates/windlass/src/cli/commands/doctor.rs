//! `windlass doctor`

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::problem::ProblemSeverity;
use windlass_worker::guard::GuardHandle;
use windlass_worker::labels;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::load_pipeline::LoadedPipeline;
use crate::cli::output;
use crate::cli::output::ColorRole;
use crate::cli::project::STORE;
use crate::cli::run_source::runtime;
use crate::embedded::Stores;

/// A disk that needs longer than this for a sync delays every step.
const SLOW_SYNC: Duration = Duration::from_millis(10);

/// The number of timed syncs; the median counts.
const SYNCS: usize = 9;

/// Check whether windlass works on this machine, and how fast
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass doctor")]
pub(crate) struct DoctorArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The result of a check.
enum DoctorFinding {
    Passed(String),
    Failed(String),
}

/// Checks everything that a run needs; fails if a check does.
pub(crate) fn run(args: &DoctorArgs, context: &CommandContext) -> Result<u8, CliError> {
    let root = root(context);
    let findings = [
        ("file", file(context)),
        ("store", store(&root)),
        ("disk", disk(&root)),
        ("guard", guard()?),
        ("labels", DoctorFinding::Passed(labels::detect().to_string().replace(',', ", "))),
    ];
    let bad = findings.iter().any(|(_, finding)| matches!(finding, DoctorFinding::Failed(_)));
    if args.json {
        let exit_code = output::print_data(&as_json(&findings).to_string());
        return Ok(if bad { crate::cli::exit::UNREACHABLE } else { exit_code });
    }
    let lines = findings.iter().map(|(name, finding)| {
        let (ink, sign, text) = match finding {
            DoctorFinding::Passed(text) => (ColorRole::Good, "ok ", text),
            DoctorFinding::Failed(text) => (ColorRole::Bad, "bad", text),
        };
        format!("{} {name:<7} {text}", context.out.paint(ink, sign))
    });
    let exit_code = output::print_data(&lines.collect::<Vec<String>>().join("\n"));
    Ok(if bad { crate::cli::exit::UNREACHABLE } else { exit_code })
}

fn as_json(findings: &[(&str, DoctorFinding)]) -> serde_json::Value {
    let objects = findings.iter().map(|(name, finding)| {
        let (ok, text) = match finding {
            DoctorFinding::Passed(text) => (true, text),
            DoctorFinding::Failed(text) => (false, text),
        };
        ((*name).to_owned(), serde_json::json!({ "ok": ok, "text": text }))
    });
    serde_json::Value::Object(objects.collect())
}

fn root(context: &CommandContext) -> PathBuf {
    let kept = |folder: &&Path| folder.join(STORE).is_dir();
    context.folder.ancestors().find(kept).unwrap_or(&context.folder).to_path_buf()
}

fn file(context: &CommandContext) -> DoctorFinding {
    match LoadedPipeline::read(context, None, ProblemSeverity::Note) {
        Ok(loaded) => DoctorFinding::Passed(format!("{} is valid", loaded.project.shown)),
        Err(CliError::Pipeline(_)) => {
            DoctorFinding::Failed("the file is invalid: run `windlass validate`".to_owned())
        }
        Err(_) => DoctorFinding::Passed("none here yet: `windlass init` creates one".to_owned()),
    }
}

fn store(root: &Path) -> DoctorFinding {
    let folder = root.join(STORE);
    if !folder.exists() {
        return DoctorFinding::Passed(format!("the first run creates {}", folder.display()));
    }
    match Stores::read(&folder) {
        Ok(stores) => match stores.warnings.first() {
            Some(warning) => DoctorFinding::Failed(warning.clone()),
            None => DoctorFinding::Passed(format!("{} is readable", folder.display())),
        },
        Err(error) => DoctorFinding::Failed(error.to_string()),
    }
}

/// Times a commit on this disk.
fn disk(root: &Path) -> DoctorFinding {
    match sync_time(root) {
        Ok(took) if took > SLOW_SYNC => {
            DoctorFinding::Failed(format!("a sync takes {took:.1?}: every step will wait for it"))
        }
        Ok(took) => DoctorFinding::Passed(format!("a sync takes {took:.1?}")),
        Err(error) => {
            DoctorFinding::Failed(format!("{} cannot be written: {error}", root.display()))
        }
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

fn guard() -> Result<DoctorFinding, CliError> {
    Ok(runtime()?.block_on(async {
        let began = Instant::now();
        match GuardHandle::start().await {
            Ok(guard) => {
                let took = began.elapsed();
                guard.end().await;
                DoctorFinding::Passed(format!("steps can start; the guard starts in {took:.1?}"))
            }
            Err(error) => DoctorFinding::Failed(format!("the guard process cannot start: {error}")),
        }
    }))
}
