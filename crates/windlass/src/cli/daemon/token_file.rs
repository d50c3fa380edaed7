//! Tokens in files.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;

use super::serve::ServeOptions;
use crate::cli::error::CliError;
use crate::cli::output::{LogLevel, Logger};
use crate::controller::api::{FileTokens, file_tokens};
use crate::embedded::{EmbeddedNodeError, read_state};
use crate::link::TokenSecret;
use crate::link::http::make_loopback_token;
use crate::shutdown::ShutdownReceiver;

/// The most bytes of a token file: a file that is larger is another one.
const FILE_MAX: u64 = 4_096;

/// How often a controller looks whether its file has changed. A closed terminal sends the signal that others reread
/// their files at, and ends a controller.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

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

/// The token that a controller on a loopback address asks for where no other is set up: every user of the machine reaches
/// it. Commands and workers of the same user find it by its address.
pub(super) async fn of_loopback(
    order: &ServeOptions,
    address: SocketAddr,
) -> Result<Vec<String>, CliError> {
    if !address.ip().is_loopback() {
        return Ok(Vec::new());
    }
    // An observer learns from its leader whether there are tokens.
    if order.observe.is_none() {
        let asks = read_state(&order.store, |engine| engine.keys().requires_token()).await;
        if asks.map_err(EmbeddedNodeError::from)? == Some(true) {
            return Ok(Vec::new());
        }
    }
    if order.no_token {
        let what = "warning: --no-token: every user of this machine can run commands here";
        order.log.log_message(LogLevel::Warn, what);
        return Ok(Vec::new());
    }
    let made = make_loopback_token(address).map_err(|error| {
        CliError::unreachable(format!("no token can be kept for commands of this user: {error}"))
            .hint(
                "set WINDLASS_STATE_DIR to a folder of this user, or name a file with --token-file",
            )
    });
    made.map(|(token, _)| vec![token])
}

/// Has a controller take the tokens that its file has now.
#[derive(Debug)]
pub(super) struct TokenFileWatcher {
    pub(super) file: PathBuf,
    pub(super) tokens: FileTokens,
    pub(super) log: Logger,
}

impl TokenFileWatcher {
    /// Looks until it is told to end. A file that cannot be read, or is half written, changes nothing; one that is empty
    /// or gone, twice in a row, opens nothing any more.
    pub(super) async fn run(self, mut shutdown: ShutdownReceiver) {
        let mut known = TokenFileContent::in_file(&self.file);
        let mut before = known.clone();
        loop {
            tokio::select! {
                () = shutdown.wait() => return,
                () = sleep(POLL_INTERVAL) => {}
            }
            let now = TokenFileContent::in_file(&self.file);
            // A file that is being written is empty for a moment.
            let settled = now != TokenFileContent::Nothing || before == TokenFileContent::Nothing;
            before = now.clone();
            if now != known && settled {
                self.take(&now);
                known = now;
            }
        }
    }

    fn take(&self, held: &TokenFileContent) {
        let file = self.file.display();
        match held {
            TokenFileContent::Tokens(tokens) => {
                self.tokens.replace(tokens);
                self.log.log_message(LogLevel::Info, format!("the tokens of {file} have changed"));
            }
            TokenFileContent::Nothing => {
                // An unknown token replaces the old ones, because an empty list would open the controller.
                let Ok(unknown) = TokenSecret::generate() else { return };
                self.tokens.replace(&[unknown.text().to_owned()]);
                let what = "holds no token any more: what it held before opens nothing";
                self.log.log_message(LogLevel::Warn, format!("{file} {what}"));
            }
            TokenFileContent::Unreadable => {
                let what = "cannot be read as a token file: what it held before stays valid";
                self.log.log_message(LogLevel::Warn, format!("{file} {what}"));
            }
        }
    }
}

/// What a token file has.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TokenFileContent {
    Tokens(Vec<String>),
    /// It is empty, or gone.
    Nothing,
    /// It cannot be read, or has something else.
    Unreadable,
}

impl TokenFileContent {
    fn in_file(file: &Path) -> Self {
        if let Ok(tokens) = read_all(file) {
            return Self::Tokens(tokens);
        }
        match std::fs::read_to_string(file) {
            Ok(text) if text.trim().is_empty() => Self::Nothing,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::Nothing,
            Ok(_) | Err(_) => Self::Unreadable,
        }
    }
}
