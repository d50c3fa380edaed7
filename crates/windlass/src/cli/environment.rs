//! All environment variables that the command line reads.
//!
//! `NO_COLOR`, `FORCE_COLOR`, `CLICOLOR_FORCE`, `TERM`, `CI`, `GITHUB_ACTIONS`, `COLUMNS` and the locale determine how
//! text looks. `XDG_CONFIG_HOME`, `XDG_CACHE_HOME` and `HOME` locate a user's files. `OTEL_…` and `TRACEPARENT`
//! configure tracing. `WINDLASS_…` are settings, which `settings` reads, or `ci_instances` for a run shared by several processes;
//! `GITHUB_RUN_ID`, `GITHUB_RUN_ATTEMPT` and `CI_PIPELINE_ID` name such a run.

use std::path::PathBuf;

use windlass_core::id::RunId;
use windlass_core::trace::TraceParent;

/// The value of a variable, if it is set and is valid text.
#[expect(clippy::disallowed_methods, reason = "environment variables are read only here")]
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The value of a variable; an empty one counts as absent.
pub(super) fn set(name: &str) -> Option<String> {
    variable(name).filter(|value| !value.is_empty())
}

/// `COLUMNS`: the output width, regardless of the terminal.
pub(super) fn columns() -> Option<usize> {
    variable("COLUMNS")?.parse().ok().filter(|columns| *columns > 0)
}

/// `OTEL_…`: an OpenTelemetry setting, by the rest of the variable's name.
pub(super) fn otel(name: &str) -> Option<String> {
    variable(&format!("OTEL_{name}")).filter(|value| !value.is_empty())
}

/// `TRACEPARENT`: the parent span of this process, if any.
pub(super) fn trace_parent() -> Option<TraceParent> {
    variable("TRACEPARENT")?.parse().ok()
}

/// The file of the saved context.
pub(super) fn context_file() -> Option<PathBuf> {
    Some(config_folder()?.join("context"))
}

/// The user's configuration folder: in `XDG_CONFIG_HOME`, or in `.config` of `HOME`.
pub(super) fn config_folder() -> Option<PathBuf> {
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")))?;
    Some(config.join("windlass"))
}

/// The user's cache folder: in `XDG_CACHE_HOME`, or in `.cache` of `HOME`.
pub(super) fn cache_folder() -> Option<PathBuf> {
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(home()?.join(".cache")))?;
    Some(cache.join("windlass"))
}

/// `HOME`.
pub(super) fn home() -> Option<PathBuf> {
    absolute("HOME")
}

fn absolute(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// All variables that are valid text, from which secrets and settings are read.
pub(super) fn all() -> Vec<(String, String)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// `WINDLASS_RUN` and `WINDLASS_STEP`: the run and the step inside which this process was started.
pub(super) fn enclosing_step() -> Option<(RunId, String)> {
    Some((variable("WINDLASS_RUN")?.parse().ok()?, variable("WINDLASS_STEP")?))
}

/// `WINDLASS_RUN_SECRET`: authenticates the messages of a leader and its workers.
pub(super) fn run_secret() -> Option<String> {
    variable("WINDLASS_RUN_SECRET").filter(|secret| !secret.is_empty())
}

/// `GITHUB_STEP_SUMMARY`: the file that GitHub shows beside a log.
pub(super) fn github_step_summary() -> Option<PathBuf> {
    variable("GITHUB_STEP_SUMMARY").filter(|file| !file.is_empty()).map(Into::into)
}

/// The name of this machine.
pub(super) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
