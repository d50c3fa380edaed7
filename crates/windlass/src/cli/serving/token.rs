//! Tokens in files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;

use crate::cli::error::CliError;
use crate::cli::output::{Level, Logger};
use crate::controller::api::{FileTokens, file_tokens};
use crate::shutdown::Shutdown;

/// The most bytes of a token file: a file that is larger is another one.
const FILE_MAX: u64 = 4_096;

/// How often a controller looks whether its file has changed. A closed terminal sends the signal that others reread
/// their files at, and ends a controller.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The token that somebody shows: the first of its file, which is the newer one while it is rotated.
pub(crate) fn read(file: &Path) -> Result<String, CliError> {
    let mut tokens = read_all(file)?;
    Ok(tokens.swap_remove(0))
}

/// All tokens of a file.
pub(super) fn read_all(file: &Path) -> Result<Vec<String>, CliError> {
    let shown = file.display();
    let unreadable = |error: &std::io::Error| {
        CliError::usage(format!("the token file {shown} cannot be read: {error}"))
    };
    let size = std::fs::metadata(file).map_err(|error| unreadable(&error))?.len();
    if size > FILE_MAX {
        return Err(CliError::usage(format!("{shown} is too large to be a token file")));
    }
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(&error))?;
    file_tokens(&text).map_err(|why| CliError::usage(format!("{shown} holds no token: {why}")))
}

/// Has a controller take the tokens that its file has now.
#[derive(Debug)]
pub(super) struct Rereading {
    pub(super) file: PathBuf,
    pub(super) tokens: FileTokens,
    pub(super) log: Logger,
}

impl Rereading {
    /// Looks until it is told to end. A file that cannot be read, or is half written, changes nothing.
    pub(super) async fn run(self, mut shutdown: Shutdown) {
        let mut known = read_all(&self.file).ok();
        loop {
            tokio::select! {
                () = shutdown.wait() => return,
                () = sleep(LOOK_EVERY) => {}
            }
            let now = read_all(&self.file).ok();
            if now == known {
                continue;
            }
            let file = self.file.display();
            if let Some(tokens) = &now {
                self.tokens.replace(tokens);
                self.log.note(Level::Info, format!("the tokens of {file} have changed"));
            } else {
                let what = "holds no token now: what it held before stays valid";
                self.log.note(Level::Warn, format!("{file} {what}"));
            }
            known = now;
        }
    }
}
