//! The controller that was saved for later commands: its address, and which file has its token.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cli::environment;
use crate::cli::error::CliError;

/// What `windlass context` keeps. The token itself stays where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedContext {
    /// The controller's address.
    pub(crate) url: String,
    /// The file that has its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_file: Option<PathBuf>,
    /// The file that has the certificates of who vouches for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ca: Option<PathBuf>,
}

impl SavedContext {
    /// What was saved, if anything was.
    pub(crate) fn load() -> Result<Option<Self>, CliError> {
        let Some(file) = environment::context_file() else { return Ok(None) };
        let text = match fs::read_to_string(&file) {
            Err(error) if is_absent(&error) => return Ok(None),
            text => text.map_err(|error| failed(&file, "read", &error))?,
        };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            CliError::usage(format!("{} makes no sense: {error}", file.display()))
                .hint("`windlass context --none` removes it")
        })
    }

    /// What it says of a setting of clients.
    pub(crate) fn setting(self, name: &str) -> Option<String> {
        match name {
            "to" => Some(self.url),
            "token-file" => self.token_file.map(|file| file.display().to_string()),
            "ca" => self.ca.map(|file| file.display().to_string()),
            _ => None,
        }
    }

    /// Saves it instead of what was saved before. Only its owner may read it.
    pub(crate) fn store(&self) -> Result<(), CliError> {
        let file = environment::context_file().ok_or_else(|| {
            CliError::usage("there is no folder to save it in")
                .hint("set HOME or XDG_CONFIG_HOME; WINDLASS_URL does without")
        })?;
        let text = serde_json::to_string_pretty(self).expect("it is plain data");
        write(&file, &text).map_err(|error| failed(&file, "written", &error))
    }

    /// Forgets what was saved; says whether there was something.
    pub(crate) fn forget() -> Result<bool, CliError> {
        let Some(file) = environment::context_file() else { return Ok(false) };
        match fs::remove_file(&file) {
            Err(error) if is_absent(&error) => Ok(false),
            removed => removed.map(|()| true).map_err(|error| failed(&file, "removed", &error)),
        }
    }
}

/// Written beside it and put in its place, so that nobody reads a half.
fn write(file: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))?;
    let new = file.with_extension(format!("{}.new", std::process::id()));
    let mut opened =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    opened.write_all(text.as_bytes())?;
    opened.write_all(b"\n")?;
    fs::rename(&new, file)
}

/// A file, or a folder of its path, that is not there.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn failed(file: &Path, done: &str, error: &io::Error) -> CliError {
    CliError::usage(format!("{} cannot be {done}: {error}", file.display()))
}
