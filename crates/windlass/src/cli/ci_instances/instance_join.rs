//! How an instance joins the run of instance 0.

use std::time::Duration;

use windlass_core::instance::InstanceRendezvous;
use windlass_link::mailbox::{MailboxAddress, MailboxKey, MailboxRegistry};
use windlass_worker::StateDirectoryError;

use super::link_reachability::LinkReachability;
use super::partial_retry;
use super::worker_instance::over;
use crate::cli::daemon::WorkerJoinFailure;
use crate::cli::error::CliError;
use crate::cli::{exit, output};

/// The rendezvous of an instance, and how long it waits.
#[derive(Debug)]
pub(crate) struct InstanceJoinOptions {
    pub(super) instance: u32,
    pub(super) total: u32,
    pub(super) meeting: InstanceRendezvous,
    pub(super) site: MailboxAddress,
    pub(super) key: MailboxKey,
    pub(super) links: MailboxRegistry,
    pub(super) contact: LinkReachability,
    /// For a leader that has not started.
    pub(super) patience: Duration,
    /// For a leader that has lost contact.
    pub(super) leader_grace: Duration,
    /// For the link.
    pub(super) link_grace: Duration,
}

impl InstanceJoinOptions {
    pub(super) fn name(&self) -> String {
        format!("instance-{}", self.instance)
    }

    /// Turns a failed join into an error.
    pub(super) async fn join_failed(&self, why: WorkerJoinFailure) -> Result<u8, CliError> {
        match why {
            WorkerJoinFailure::Over(final_status) => Ok(over(&final_status)),
            WorkerJoinFailure::State(StateDirectoryError::InUse { pid, .. }) => {
                let first =
                    pid.map_or("another process".to_owned(), |pid| format!("process {pid}"));
                Err(self.name_taken_error(&first))
            }
            WorkerJoinFailure::State(error) => Err(error.into()),
            WorkerJoinFailure::NoLeader(waited) => match self.earlier_final_status().await {
                Some(final_status) => {
                    output::print_message(&format!(
                        "the previous attempt has ended: {final_status}"
                    ));
                    Ok(exit::SUCCESS)
                }
                None => Err(self.no_leader_error(&format!("no leader for {} s", waited.as_secs()))),
            },
            WorkerJoinFailure::Refused(error) => Err(CliError::unreachable(error.to_string())),
            WorkerJoinFailure::Failed(error) => Err(error),
        }
    }

    /// The final status of the previous attempt, if it left one. This attempt then has no leader: jobs that succeeded
    /// are not repeated.
    pub(super) async fn earlier_final_status(&self) -> Option<String> {
        let run = self.meeting.earlier.clone()?;
        let earlier = self.links.open(&MailboxAddress { run, ..self.site.clone() }).ok()?;
        earlier.binding().await.ok()?.final_status
    }

    pub(super) fn name_taken_error(&self, first: &str) -> CliError {
        let (instance, total, name) = (self.instance, self.total, &self.meeting.name);
        CliError::usage(format!("instance {instance} of {name} is already running: {first}"))
            .hint(format!("each of the {total} instances needs its own number, from 0"))
    }

    pub(super) fn no_leader_error(&self, why: &dyn std::fmt::Display) -> CliError {
        let error = CliError::unreachable(format!("{}: {why}", self.meeting.name));
        let usual = || "is instance 0 running, with the same link, run id and secret?".to_owned();
        error.hint(partial_retry::no_leader_note(&self.meeting).unwrap_or_else(usual))
    }

    pub(super) fn link_lost_error(&self, why: &str) -> CliError {
        let waited = self.link_grace.as_secs();
        CliError::unreachable(format!("no contact with the link for {waited} s: {why}"))
    }
}
