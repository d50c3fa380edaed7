//! Output that a worker could not send, reported in its last line.

use std::sync::Arc;

use tracing::warn;
use windlass_link::output::SpooledLogs;
use windlass_worker::ClusterMembership;

use crate::cli::error::CliError;

/// The outcomes and output that a worker could not send.
#[derive(Clone, Debug)]
pub(crate) struct UnsentWorkerOutput {
    pub(super) logs: SpooledLogs,
    pub(super) membership: Arc<ClusterMembership>,
}

impl UnsentWorkerOutput {
    /// Appends the amount and the location of unsent output to the last line of a worker.
    pub(crate) fn append_to_last_line(&self, ended: Result<u8, CliError>) -> Result<u8, CliError> {
        match ended {
            Ok(code) => {
                self.log_if_any();
                Ok(code)
            }
            Err(error) => Err(match self.line() {
                Some(line) => error.note(line),
                None => error,
            }),
        }
    }

    /// Logs the amount and the location of unsent output, if any.
    pub(crate) fn log_if_any(&self) {
        if let Some(line) = self.line() {
            warn!("{line}");
        }
    }

    fn line(&self) -> Option<String> {
        let outcomes = match self.membership.outcomes().len() {
            0 => None,
            1 => Some("1 outcome".to_owned()),
            count => Some(format!("{count} outcomes")),
        };
        let unsent = self.logs.unsent();
        let output = unsent.as_ref().map(|unsent| format!("{} bytes of output", unsent.bytes));
        let what: Vec<String> = [outcomes, output].into_iter().flatten().collect();
        let folder = unsent.map_or_else(|| self.membership.folder().to_owned(), |it| it.folder);
        let line = format!(
            "not sent: {}; kept in {}; the next start with this state directory sends it",
            what.join(" and "),
            folder.display()
        );
        (!what.is_empty()).then_some(line)
    }
}
