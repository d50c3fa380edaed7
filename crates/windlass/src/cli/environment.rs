//! Every environment variable that the command line reads is read here: `NO_COLOR`, `FORCE_COLOR`, `CLICOLOR_FORCE`,
//! `TERM`, `CI`, `GITHUB_ACTIONS` and the locale, which decide how text looks, `COLUMNS`, where a user's own files are, by
//! `XDG_CONFIG_HOME` and `HOME`, where spans go and what they are a part of, by `OTEL_…` and `TRACEPARENT`, and those of
//! settings, `WINDLASS_…`, which `settings` makes something of, or `ci_instances` for a run that several processes share: with
//! `GITHUB_RUN_ID`, `GITHUB_RUN_ATTEMPT` and `CI_PIPELINE_ID`, which name it.

use std::path::PathBuf;

use windlass_core::trace::TraceParent;

/// The value of a variable, if it is set and is text.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The value of a variable, if it has one: an empty one counts as absent.
pub(super) fn set(name: &str) -> Option<String> {
    variable(name).filter(|value| !value.is_empty())
}

/// `COLUMNS`: how wide the output may be, whatever the terminal is.
pub(super) fn columns() -> Option<usize> {
    variable("COLUMNS")?.parse().ok().filter(|columns| *columns > 0)
}

/// `OTEL_…`: what programs of OpenTelemetry are told, by the rest of the variable's name.
pub(super) fn otel(name: &str) -> Option<String> {
    variable(&format!("OTEL_{name}")).filter(|value| !value.is_empty())
}

/// `TRACEPARENT`: the span that this process is a part of, if it names one.
pub(super) fn trace_parent() -> Option<TraceParent> {
    variable("TRACEPARENT")?.parse().ok()
}

/// Where a context is saved.
pub(super) fn context_file() -> Option<PathBuf> {
    Some(config_folder()?.join("context"))
}

/// What this user has set for windlass: in `XDG_CONFIG_HOME`, or in `.config` of `HOME`.
pub(super) fn config_folder() -> Option<PathBuf> {
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")))?;
    Some(config.join("windlass"))
}

/// `HOME`.
pub(super) fn home() -> Option<PathBuf> {
    absolute("HOME")
}

fn absolute(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
}

/// Everything that is set and is text: what secrets and settings are taken from.
pub(super) fn all() -> Vec<(String, String)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// `WINDLASS_RUN_SECRET`: what proves the letters of a leader and its workers to each other.
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
