//! Every instance but the first: a worker that ends with the run.

use std::future::{Future, pending};
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{sleep, timeout};
use tracing::info;
use windlass_core::engine::CancelLevel;
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::instance::RunFinalStatus;
use windlass_core::requirement::Labels;
use windlass_core::session::WorkerRefusal;
use windlass_link::mailbox::MailboxWorkerLink;
use windlass_link::output::DISK_GRACE;
use windlass_net::shutdown::ShutdownSender;
use windlass_worker::{WorkerError, WorkerShutdown};

use super::instance_join::InstanceJoinOptions;
use crate::cli::daemon::{JoinTarget, WorkerDaemon, WorkerDaemonOptions};
use crate::cli::error::CliError;
use crate::cli::extensions::ProgramExtensions;
use crate::cli::{exit, output};

/// How long the leader may take to acknowledge a kill request: long compared with a round trip through the link.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(1);

/// How long the run may take to end after that.
const KILLED_WITHIN: Duration = Duration::from_secs(3);

/// Options of a worker instance.
#[derive(Debug)]
pub(crate) struct WorkerInstanceOptions {
    /// Its rendezvous and waiting times.
    pub(crate) join: InstanceJoinOptions,
    /// The folder in which its steps run.
    pub(crate) root: PathBuf,
    /// The folder of workers' state; each has its own folder in it.
    pub(crate) state_folder: PathBuf,
    /// Concurrent steps.
    pub(crate) slots: u32,
    /// Advertised labels.
    pub(crate) labels: Labels,
    /// The functions and labels compiled into this program.
    pub(crate) compiled: ProgramExtensions,
}

/// Works until the run has ended; returns the exit code.
pub(crate) fn work(order: WorkerInstanceOptions) -> Result<u8, CliError> {
    let (join, work) = order.split();
    let runtime = crate::cli::run_source::runtime()?;
    let ended = runtime.block_on(async {
        let mut signals = InstanceSignals::listen().map_err(|error| {
            CliError::unreachable(format!("cannot listen for signals: {error}"))
        })?;
        let joined = tokio::select! {
            joined = WorkerDaemon::new(&work) => joined,
            why = join.contact.lost(join.link_grace) => return Err(join.link_lost_error(&why)),
            _ = signals.next() => return Ok(exit::INTERRUPTED),
        };
        let joined = match joined {
            Ok(joined) => joined,
            Err(why) => return join.join_failed(why).await,
        };
        let unsent = joined.unsent();
        let ended = WorkerInstance { join: &join }.work(joined, signals).await;
        unsent.append_to_last_line(ended)
    });
    // Dropping it would wait for threads that may be blocked.
    runtime.shutdown_background();
    ended
}

impl WorkerInstanceOptions {
    fn split(self) -> (InstanceJoinOptions, WorkerDaemonOptions) {
        let Self { join, root, state_folder: states, slots, labels, compiled } = self;
        let name = join.name();
        let (site, key, links) = (join.site.clone(), join.key.clone(), join.links.clone());
        let work = WorkerDaemonOptions {
            join: JoinTarget::Mailbox { site, key, links },
            state: states.join(&name),
            name,
            slots,
            labels,
            // All instances belong to the user who wrote the pipeline: they pass the environment as a single machine
            // does.
            policy: EnvironmentPolicy::PassAll,
            compiled,
            root,
            patience: Some(join.patience),
            leader_grace: Some(join.leader_grace),
            disk_grace: DISK_GRACE,
        };
        (join, work)
    }
}

/// A running worker instance.
struct WorkerInstance<'a> {
    join: &'a InstanceJoinOptions,
}

impl WorkerInstance<'_> {
    /// Ctrl-C ends the run in every instance; SIGTERM ends this instance alone. The second of either ends this
    /// instance even if the leader does not answer, the third without waiting for anything.
    async fn work(
        &self,
        joined: WorkerDaemon,
        mut signals: InstanceSignals,
    ) -> Result<u8, CliError> {
        let (drain, first) = ShutdownSender::new();
        let (kill, second) = ShutdownSender::new();
        let leader = joined.mailbox_link();
        let worker = joined.work(WorkerShutdown { drain: first, kill: Some(second) });
        let lost = self.join.contact.lost(self.join.link_grace);
        tokio::pin!(worker, lost);
        let mut overdue: Pin<Box<dyn Future<Output = ()>>> = Box::pin(pending());
        let (mut interrupts, mut ends) = (0_u32, 0_u32);
        loop {
            tokio::select! {
                done = &mut worker => return self.ended(done, interrupts),
                why = &mut lost => {
                    kill.shut_down();
                    drop(worker.await);
                    return Err(self.join.link_lost_error(&why));
                }
                () = &mut overdue => {
                    overdue = Box::pin(pending());
                    kill.shut_down();
                }
                request = signals.next() => match request {
                    InstanceStopRequest::CancelRun => {
                        interrupts += 1;
                        match interrupts {
                            1 => cancel_run(leader.clone()),
                            2 => overdue = Box::pin(kill_run(leader.clone())),
                            _ => return Ok(exit::INTERRUPTED),
                        }
                    }
                    InstanceStopRequest::EndInstance => {
                        ends += 1;
                        match ends {
                            1 | 2 => end_instance(ends, &drain, &kill),
                            _ => return Ok(exit::INTERRUPTED),
                        }
                    }
                },
            }
        }
    }

    fn ended(&self, done: Result<(), WorkerError>, interrupts: u32) -> Result<u8, CliError> {
        match done {
            Ok(()) if interrupts > 0 => Ok(exit::INTERRUPTED),
            Ok(()) => Ok(exit::SUCCESS),
            Err(WorkerError::Finished(final_status)) => Ok(over(&final_status)),
            Err(WorkerError::Refused(WorkerRefusal::NameTaken { by, .. })) => {
                let first = format!("worker {by}, which is live");
                Err(self.join.name_taken_error(&first))
            }
            Err(error @ WorkerError::NoLeader { .. }) => Err(self.join.no_leader_error(&error)),
            Err(error) => Err(CliError::unreachable(error.to_string())),
        }
    }
}

/// Requests a graceful end of the run.
fn cancel_run(leader: Option<MailboxWorkerLink>) {
    info!("cancelling the run");
    if let Some(leader) = leader {
        tokio::spawn(async move { drop(leader.cancel(CancelLevel::Stop).await) });
    }
}

/// Ends this instance; the first request lets its steps finish.
fn end_instance(times: u32, drain: &ShutdownSender, kill: &ShutdownSender) {
    let (what, order) = match times {
        1 => ("stopping: steps that run here finish first", drain),
        _ => ("stopping: steps that run here are killed", kill),
    };
    info!("{what}");
    order.shut_down();
}

/// Requests that the leader kill the run. Returns when this instance must end by itself: the leader does not answer,
/// or the run does not end.
async fn kill_run(leader: Option<MailboxWorkerLink>) {
    let Some(leader) = leader else { return };
    let acknowledged = timeout(ACKNOWLEDGED_WITHIN, leader.cancel(CancelLevel::Kill)).await;
    if matches!(acknowledged, Ok(Ok(()))) {
        sleep(KILLED_WITHIN).await;
    }
}

/// The run has ended; instance 0 reports how.
pub(super) fn over(final_status: &str) -> u8 {
    output::print_message(final_status);
    if RunFinalStatus::from_text(final_status).is_cancelled() {
        exit::CANCELLED
    } else {
        exit::SUCCESS
    }
}

/// A stop request by signal.
enum InstanceStopRequest {
    /// End the run.
    CancelRun,
    /// End this instance.
    EndInstance,
}

/// Receives SIGINT, SIGTERM and SIGHUP.
struct InstanceSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl InstanceSignals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> InstanceStopRequest {
        tokio::select! {
            _ = self.interrupt.recv() => InstanceStopRequest::CancelRun,
            _ = self.terminate.recv() => InstanceStopRequest::EndInstance,
            _ = self.hangup.recv() => InstanceStopRequest::EndInstance,
        }
    }
}
