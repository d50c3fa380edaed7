//! Tokens in files.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;
use tracing::{info, warn};
use windlass_controller::api::{FileTokens, file_tokens};
use windlass_net::credentials::TokenSecret;
use windlass_net::http::make_loopback_token;
use windlass_net::shutdown::ShutdownReceiver;

use super::serve::ServeOptions;
use crate::cli::error::CliError;
use crate::embedded::{EmbeddedNodeError, read_state};

/// The size limit of a token file: a larger file is something else.
const FILE_MAX: u64 = 4_096;

/// How often a controller checks whether its file has changed. SIGHUP does not trigger that: it is also the signal of
/// a closed terminal, which ends a controller.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Reads the token that a client presents: the first of its file, which is the newer one during a rotation.
pub(crate) fn read(file: &Path) -> Result<String, CliError> {
    let mut tokens = read_all(file)?;
    Ok(tokens.swap_remove(0))
}

/// Reads all tokens of a file.
pub(super) fn read_all(file: &Path) -> Result<Vec<String>, CliError> {
    let shown = file.display();
    let unreadable = |error: &std::io::Error| {
        CliError::usage(format!("the token file {shown} cannot be read: {error}"))
    };
    let size = std::fs::metadata(file).map_err(|error| unreadable(&error))?.len();
    if size > FILE_MAX {
        return Err(CliError::usage(format!("{shown} is too large for a token file")));
    }
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(&error))?;
    file_tokens(&text).map_err(|why| CliError::usage(format!("{shown} contains no token: {why}")))
}

/// The token of a controller on a loopback address without other tokens: every user of the machine can connect there.
/// Commands and workers of the same user find it by the address.
pub(super) async fn of_loopback(
    order: &ServeOptions,
    address: SocketAddr,
) -> Result<Vec<String>, CliError> {
    if !address.ip().is_loopback() {
        return Ok(Vec::new());
    }
    // A replica learns from its leader whether there are tokens.
    if order.observe.is_none() {
        let asks = read_state(&order.store, |engine| engine.keys().requires_token()).await;
        if asks.map_err(EmbeddedNodeError::from)? == Some(true) {
            return Ok(Vec::new());
        }
    }
    if order.no_token {
        let what = "warning: --no-token: every user of this machine can run commands here";
        warn!("{what}");
        return Ok(Vec::new());
    }
    let made = make_loopback_token(address).map_err(|error| {
        CliError::unreachable(format!("no token for commands of this user can be stored: {error}"))
            .hint("set WINDLASS_STATE_DIR to a folder of this user, or use --token-file")
    });
    made.map(|(token, _)| vec![token])
}

/// Applies changes of the token file.
#[derive(Debug)]
pub(super) struct TokenFileWatcher {
    pub(super) file: PathBuf,
    pub(super) tokens: FileTokens,
}

impl TokenFileWatcher {
    /// Polls until shutdown. An unreadable or half-written file changes nothing; a file that is empty or missing
    /// twice in a row revokes its tokens.
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
                info!("the tokens in {file} have changed");
            }
            TokenFileContent::Nothing => {
                // An unknown token replaces the old ones, because an empty list would open the controller.
                let Ok(unknown) = TokenSecret::generate() else { return };
                self.tokens.replace(&[unknown.text().to_owned()]);
                let what = "contains no token any more: its earlier tokens are revoked";
                warn!("{file} {what}");
            }
            TokenFileContent::Unreadable => {
                let what = "is not readable as a token file: its earlier tokens remain valid";
                warn!("{file} {what}");
            }
        }
    }
}

/// The contents of a token file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TokenFileContent {
    Tokens(Vec<String>),
    /// It is empty or missing.
    Nothing,
    /// It cannot be read, or is no token file.
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
