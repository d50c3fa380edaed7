//! Every instance but the first: a worker that ends with the run.

use std::future::{Future, pending};
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{sleep, timeout};
use windlass_core::engine::CancelLevel;
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::instance::{Epitaph, Meeting};
use windlass_core::requirement::Labels;
use windlass_core::session::Refusal;

use super::again;
use super::contact::Contact;
use crate::cli::compiled::Compiled;
use crate::cli::error::CliError;
use crate::cli::exit;
use crate::cli::output::{self, Level, Logger};
use crate::cli::serving::{Join, Joined, NotJoined, Work};
use crate::link::output::DISK_GRACE;
use crate::link::post::{Key, Links, PostLink, Site};
use crate::shutdown::ShutdownSender;
use crate::worker::{Ends, StateError, WorkerError};

/// How long the leader may take to acknowledge that the run is to be killed: long beside a round trip through the link.
const HEARD_WITHIN: Duration = Duration::from_secs(1);

/// How long it may take from then until the run has ended.
const OBEYED_WITHIN: Duration = Duration::from_secs(3);

/// Whom an instance meets, and how long it waits for them.
#[derive(Debug)]
pub(crate) struct Meets {
    pub(super) instance: u32,
    pub(super) total: u32,
    pub(super) meeting: Meeting,
    pub(super) site: Site,
    pub(super) key: Key,
    pub(super) links: Links,
    pub(super) contact: Contact,
    /// For a leader that has not begun.
    pub(super) patience: Duration,
    /// For a leader that was there.
    pub(super) leader_grace: Duration,
    /// For the link.
    pub(super) link_grace: Duration,
}

/// An instance to be.
#[derive(Debug)]
pub(crate) struct Working {
    /// Whom it meets.
    pub(crate) meets: Meets,
    /// Where its steps run.
    pub(crate) root: PathBuf,
    /// Where workers keep what they remember: each its own folder in it.
    pub(crate) states: PathBuf,
    /// Steps at a time.
    pub(crate) slots: u32,
    /// What it advertises.
    pub(crate) labels: Labels,
    /// What this program has beside windlass itself.
    pub(crate) compiled: Compiled,
    /// What says what goes on.
    pub(crate) log: Logger,
}

/// Works until the run has ended, and returns the exit code.
pub(crate) fn work(order: Working) -> Result<u8, CliError> {
    let (meets, work) = order.split();
    let runtime = crate::cli::reading::runtime()?;
    let ended = runtime.block_on(async {
        let mut signals = Signals::listen()
            .map_err(|error| CliError::unreachable(format!("signals cannot be heard: {error}")))?;
        let joined = tokio::select! {
            joined = Joined::new(&work) => joined,
            why = meets.contact.lost(meets.link_grace) => return Err(meets.link_lost(&why)),
            _ = signals.next() => return Ok(exit::INTERRUPTED),
        };
        let joined = match joined {
            Ok(joined) => joined,
            Err(why) => return meets.not_joined(why).await,
        };
        let unsent = joined.unsent();
        let ended = Instance { meets: &meets, log: work.log }.work(joined, signals).await;
        unsent.tell_last(ended, work.log)
    });
    // Dropped, it would wait for threads that may be blocked.
    runtime.shutdown_background();
    ended
}

impl Working {
    fn split(self) -> (Meets, Work) {
        let Self { meets, root, states, slots, labels, compiled, log } = self;
        let name = meets.name();
        let (site, key, links) = (meets.site.clone(), meets.key.clone(), meets.links.clone());
        let work = Work {
            join: Join::Mail { site, key, links },
            state: states.join(&name),
            name,
            slots,
            labels,
            // The user who wrote the pipeline started all instances: they pass what one machine would.
            policy: EnvironmentPolicy::PassAll,
            compiled,
            root,
            patience: Some(meets.patience),
            leader_grace: Some(meets.leader_grace),
            disk_grace: DISK_GRACE,
            log,
        };
        (meets, work)
    }
}

/// An instance that works.
struct Instance<'a> {
    meets: &'a Meets,
    log: Logger,
}

impl Instance<'_> {
    /// Ctrl-C ends the run, in every instance; SIGTERM ends this instance alone. The second of either ends this instance
    /// whether or not the leader answers, the third without waiting for anything.
    async fn work(&self, joined: Joined, mut signals: Signals) -> Result<u8, CliError> {
        let (drain, first) = ShutdownSender::new();
        let (kill, second) = ShutdownSender::new();
        let leader = joined.by_letters();
        let worker = joined.work(Ends { drain: first, kill: Some(second) });
        let lost = self.meets.contact.lost(self.meets.link_grace);
        tokio::pin!(worker, lost);
        let mut overdue: Pin<Box<dyn Future<Output = ()>>> = Box::pin(pending());
        let (mut interrupts, mut ends) = (0_u32, 0_u32);
        loop {
            tokio::select! {
                done = &mut worker => return self.ended(done, interrupts),
                why = &mut lost => {
                    kill.shut_down();
                    drop(worker.await);
                    return Err(self.meets.link_lost(&why));
                }
                () = &mut overdue => {
                    overdue = Box::pin(pending());
                    kill.shut_down();
                }
                told = signals.next() => match told {
                    Told::Cancel => {
                        interrupts += 1;
                        match interrupts {
                            1 => self.cancel(leader.clone()),
                            2 => overdue = Box::pin(kill_run(leader.clone())),
                            _ => return Ok(exit::INTERRUPTED),
                        }
                    }
                    Told::End => {
                        ends += 1;
                        match ends {
                            1 | 2 => self.end(ends, &drain, &kill),
                            _ => return Ok(exit::INTERRUPTED),
                        }
                    }
                },
            }
        }
    }

    /// Asks the leader to end the run politely.
    fn cancel(&self, leader: Option<PostLink>) {
        self.log.note(Level::Info, "cancelling the run");
        if let Some(leader) = leader {
            tokio::spawn(async move { drop(leader.cancel(CancelLevel::Stop).await) });
        }
    }

    /// Ends this instance: the first time when its steps have ended.
    fn end(&self, times: u32, drain: &ShutdownSender, kill: &ShutdownSender) {
        let (what, order) = match times {
            1 => ("ending: steps that run here are finished first", drain),
            _ => ("ending: steps that run here are killed", kill),
        };
        self.log.note(Level::Info, what);
        order.shut_down();
    }

    fn ended(&self, done: Result<(), WorkerError>, interrupts: u32) -> Result<u8, CliError> {
        match done {
            Ok(()) if interrupts > 0 => Ok(exit::INTERRUPTED),
            Ok(()) => Ok(exit::SUCCESS),
            Err(WorkerError::Over(epitaph)) => Ok(over(&epitaph)),
            Err(WorkerError::Refused(Refusal::NameTaken { by, .. })) => {
                let first = format!("worker {by}, which is live");
                Err(self.meets.is_there_already(&first))
            }
            Err(error @ WorkerError::NoLeader { .. }) => Err(self.meets.no_leader(&error)),
            Err(error) => Err(CliError::unreachable(error.to_string())),
        }
    }
}

impl Meets {
    fn name(&self) -> String {
        format!("instance-{}", self.instance)
    }

    /// What it comes to that the leader was not found.
    async fn not_joined(&self, why: NotJoined) -> Result<u8, CliError> {
        match why {
            NotJoined::Over(epitaph) => Ok(over(&epitaph)),
            NotJoined::State(StateError::InUse { pid, .. }) => {
                let first =
                    pid.map_or("another process".to_owned(), |pid| format!("process {pid}"));
                Err(self.is_there_already(&first))
            }
            NotJoined::State(error) => Err(error.into()),
            NotJoined::NoLeader(waited) => match self.ended_earlier().await {
                Some(epitaph) => {
                    output::talk(&format!("the attempt before this one has ended: {epitaph}"));
                    Ok(exit::SUCCESS)
                }
                None => Err(self.no_leader(&format!("nobody has led for {} s", waited.as_secs()))),
            },
            NotJoined::Refused(error) => Err(CliError::unreachable(error.to_string())),
            NotJoined::Failed(error) => Err(error),
        }
    }

    /// What the attempt before this one came to, where it has left word. Then nobody will lead this one: those jobs that
    /// went well are not repeated.
    async fn ended_earlier(&self) -> Option<String> {
        let run = self.meeting.earlier.clone()?;
        let earlier = self.links.open(&Site { run, ..self.site.clone() }).ok()?;
        earlier.look().await.ok()?.epitaph
    }

    fn is_there_already(&self, first: &str) -> CliError {
        let (instance, total, name) = (self.instance, self.total, &self.meeting.name);
        CliError::usage(format!("instance {instance} of {name} is there already: {first}"))
            .hint(format!("each of the {total} has a number of its own, from 0"))
    }

    fn no_leader(&self, why: &dyn std::fmt::Display) -> CliError {
        let error = CliError::unreachable(format!("{}: {why}", self.meeting.name));
        let usual = || "is instance 0 running, with the same link, run id and secret?".to_owned();
        error.hint(again::nobody_leads(&self.meeting).unwrap_or_else(usual))
    }

    fn link_lost(&self, why: &str) -> CliError {
        let waited = self.link_grace.as_secs();
        CliError::unreachable(format!("no contact with the link for {waited} s: {why}"))
    }
}

/// Asks the leader to kill the run. Returns when this instance must end by itself: the leader does not answer, or nothing
/// comes of it.
async fn kill_run(leader: Option<PostLink>) {
    let Some(leader) = leader else { return };
    let heard = timeout(HEARD_WITHIN, leader.cancel(CancelLevel::Kill)).await;
    if matches!(heard, Ok(Ok(()))) {
        sleep(OBEYED_WITHIN).await;
    }
}

/// The run has ended, whatever it came to: instance 0 tells that.
fn over(epitaph: &str) -> u8 {
    output::talk(epitaph);
    if Epitaph::found(epitaph).is_of_cancelled() { exit::CANCELLED } else { exit::SUCCESS }
}

/// What somebody wants.
enum Told {
    /// The run is to end.
    Cancel,
    /// This instance is to end.
    End,
}

/// Hears Ctrl-C, SIGTERM and a closed terminal.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.interrupt.recv() => Told::Cancel,
            _ = self.terminate.recv() => Told::End,
            _ = self.hangup.recv() => Told::End,
        }
    }
}
