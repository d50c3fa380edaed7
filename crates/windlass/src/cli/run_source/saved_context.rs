//! The saved controller: its address, and the file of its token.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cli::environment;
use crate::cli::error::CliError;

/// The contents of `windlass context`. The token itself is not copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedContext {
    /// The controller's address.
    pub(crate) url: String,
    /// The file with its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_file: Option<PathBuf>,
    /// The CA bundle for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ca: Option<PathBuf>,
}

impl SavedContext {
    /// Loads the saved context, if any.
    pub(crate) fn load() -> Result<Option<Self>, CliError> {
        let Some(file) = environment::context_file() else { return Ok(None) };
        let text = match fs::read_to_string(&file) {
            Err(error) if is_absent(&error) => return Ok(None),
            text => text.map_err(|error| failed(&file, "read", &error))?,
        };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            CliError::usage(format!("{} is invalid: {error}", file.display()))
                .hint("`windlass context --none` removes it")
        })
    }

    /// Its value of a client setting.
    pub(crate) fn setting(self, name: &str) -> Option<String> {
        match name {
            "to" => Some(self.url),
            "token-file" => self.token_file.map(|file| file.display().to_string()),
            "ca" => self.ca.map(|file| file.display().to_string()),
            _ => None,
        }
    }

    /// Replaces the saved context. Only the owner can read it.
    pub(crate) fn store(&self) -> Result<(), CliError> {
        let file = environment::context_file().ok_or_else(|| {
            CliError::usage("there is no folder to save it in")
                .hint("set HOME or XDG_CONFIG_HOME, or use WINDLASS_URL instead")
        })?;
        let text = serde_json::to_string_pretty(self).expect("it is plain data");
        write(&file, &text).map_err(|error| failed(&file, "written", &error))
    }

    /// Deletes the saved context; returns whether there was one.
    pub(crate) fn forget() -> Result<bool, CliError> {
        let Some(file) = environment::context_file() else { return Ok(false) };
        match fs::remove_file(&file) {
            Err(error) if is_absent(&error) => Ok(false),
            removed => removed.map(|()| true).map_err(|error| failed(&file, "removed", &error)),
        }
    }
}

/// Written to another file and renamed, so that no reader sees a part of it.
fn write(file: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))?;
    let new = file.with_extension(format!("{}.new", std::process::id()));
    let mut opened =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    opened.write_all(text.as_bytes())?;
    opened.write_all(b"\n")?;
    fs::rename(&new, file)
}

/// A missing file, or a missing folder of its path.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn failed(file: &Path, done: &str, error: &io::Error) -> CliError {
    CliError::usage(format!("{} cannot be {done}: {error}", file.display()))
}
