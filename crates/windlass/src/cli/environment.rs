//! Every environment variable that the command line reads is read here: `NO_COLOR`, `CLICOLOR_FORCE`, `TERM`, `CI`,
//! `GITHUB_ACTIONS` and the locale, which decide how text looks, `COLUMNS`, and where commands look: `WINDLASS_URL`,
//! `WINDLASS_TOKEN_FILE`, and the file that a context is saved in, by `XDG_CONFIG_HOME` and `HOME`.

use std::path::PathBuf;

/// The value of a variable, if it is set and is text.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// `COLUMNS`: how wide the output may be, whatever the terminal is.
pub(super) fn columns() -> Option<usize> {
    variable("COLUMNS")?.parse().ok().filter(|columns| *columns > 0)
}

/// `WINDLASS_URL`: the controller that commands ask.
pub(super) fn url() -> Option<String> {
    variable("WINDLASS_URL").filter(|url| !url.is_empty())
}

/// `WINDLASS_TOKEN_FILE`: the file that has its token.
pub(super) fn token_file() -> Option<PathBuf> {
    variable("WINDLASS_TOKEN_FILE").filter(|file| !file.is_empty()).map(Into::into)
}

/// Where a context is saved: in `XDG_CONFIG_HOME`, or in `.config` of `HOME`.
pub(super) fn context_file() -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(config.join("windlass/context"))
}

/// Everything that is set and is text: what secrets are taken from.
pub(super) fn all() -> Vec<(String, String)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// `GITHUB_STEP_SUMMARY`: the file that GitHub shows beside a log.
pub(super) fn github_step_summary() -> Option<PathBuf> {
    variable("GITHUB_STEP_SUMMARY").filter(|file| !file.is_empty()).map(Into::into)
}

/// The name of this machine.
pub(super) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
