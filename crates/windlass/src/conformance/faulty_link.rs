//! A leader and workers over a link with the faults that a link can have: a run must still succeed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use windlass_controller::mailbox_server::{LeaderFinalStatus, MailboxServer, MailboxServerOptions};
use windlass_controller::{
    ControllerNode, LogIngest, NodeConfig, NodeHandle, RunHistories, StandbyPolicy,
};
use windlass_core::engine::{EngineConfig, EngineRequest, SubmitRun};
use windlass_core::id::{Fence, RunId};
use windlass_core::outcome::{Outcome, RunStatus};
use windlass_core::plan::{Plan, PlanBuilder, RetryPolicy, StepSpec};
use windlass_core::session::LeaseGrant;
use windlass_core::time::{Span, Time};
use windlass_link::mailbox::{MailboxKey, MailboxWorkerLink, Mailboxes};
use windlass_net::clock::ProcessClock;
use windlass_net::credentials::WorkerSecret;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::conformance::{
    CheckDifference, CheckResult, FreshStorage, StorageHarness, expect_same, expect_true,
};
use windlass_store::journal::{Journal, LeaderCandidate, MemoryJournal};
use windlass_store::logs::MemoryLogs;
use windlass_worker::{AttemptFuture, AttemptOrders, Executor, WorkerError};

use super::faulty_mailboxes::{FaultyMailboxes, MailboxFaults};
use super::link_checks::with_new_mailboxes;
use super::test_worker::test_worker;

type FreshLinkMailboxes<'a> = FreshStorage<'a, dyn Mailboxes>;

const STEPS: usize = 40;

/// A short lease duration, so that a lost message costs little time.
const TTL: Span = Span::secs(2);

/// The term of a binding: it expires while a check waits for it, and lasts longer than [`DISCONNECTED_FOR`].
const BINDING_TERM: Duration = Duration::from_secs(3);

/// How long no process reaches the link: renewals of the binding are lost, and it does not expire.
const DISCONNECTED_FOR: Duration = Duration::from_secs(1);

/// How long a run may take with any fault.
const ENDS_WITHIN: Duration = Duration::from_secs(40);

const RUN: RunId = RunId(7);

pub(super) fn a_run_succeeds_over_a_reliable_link(fresh: &FreshLinkMailboxes<'_>) -> CheckResult {
    run_with_faults(fresh, MailboxFaults::default())
}

pub(super) fn a_run_succeeds_though_messages_get_lost(
    fresh: &FreshLinkMailboxes<'_>,
) -> CheckResult {
    run_with_faults(fresh, MailboxFaults { lost: 15, ..MailboxFaults::default() })
}

pub(super) fn a_run_succeeds_though_messages_are_duplicated(
    fresh: &FreshLinkMailboxes<'_>,
) -> CheckResult {
    run_with_faults(fresh, MailboxFaults { duplicated: 60, ..MailboxFaults::default() })
}

pub(super) fn a_run_succeeds_though_messages_are_late_and_out_of_order(
    fresh: &FreshLinkMailboxes<'_>,
) -> CheckResult {
    let longest = Duration::from_millis(700);
    run_with_faults(
        fresh,
        MailboxFaults { delayed: 50, delay_max: longest, ..MailboxFaults::default() },
    )
}

fn run_with_faults(fresh: &FreshLinkMailboxes<'_>, faults: MailboxFaults) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let workers = LinkTestWorkers::start_workers(harness, faults)?;
        let leader = LinkTestLeader::begin(&workers.open_mailboxes(harness), &journal()).await?;
        leader.submit().await?;
        leader.expect_success(&workers).await
    })
}

pub(super) fn a_run_succeeds_though_every_node_was_disconnected(
    fresh: &FreshLinkMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let workers = LinkTestWorkers::start_workers(harness, MailboxFaults::default())?;
        let leader = LinkTestLeader::begin(&workers.open_mailboxes(harness), &journal()).await?;
        leader.submit().await?;
        workers.has_begun().await?;
        workers.set_disconnected(true);
        sleep(DISCONNECTED_FOR).await;
        workers.set_disconnected(false);
        leader.expect_success(&workers).await
    })
}

pub(super) fn the_next_leader_goes_on_with_a_run(fresh: &FreshLinkMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let (journal, workers) =
            (journal(), LinkTestWorkers::start_workers(harness, MailboxFaults::default())?);
        let leader = LinkTestLeader::begin(&workers.open_mailboxes(harness), &journal).await?;
        leader.submit().await?;
        workers.has_begun().await?;
        leader.crash(&*journal).await;
        let next = LinkTestLeader::begin(&workers.open_mailboxes(harness), &journal).await?;
        next.expect_success(&workers).await
    })
}

pub(super) fn a_final_status_ends_every_worker(fresh: &FreshLinkMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let mut workers = LinkTestWorkers::start_workers(harness, MailboxFaults::default())?;
        let leader = LinkTestLeader::begin(&workers.open_mailboxes(harness), &journal()).await?;
        leader.submit().await?;
        leader.expect_success(&workers).await?;
        leader.final_status.write("succeeded");
        leader.shutdown.shut_down();
        drop(leader.mailbox_server.await);
        let over = Err(WorkerError::Finished("succeeded".to_owned()));
        for worker in workers.workers.drain(..) {
            let ended = worker.await.map_err(|error| CheckDifference::new(error.to_string()))?;
            expect_same("result of a worker", &ended, &over)?;
        }
        Ok(())
    })
}

fn journal() -> Arc<dyn Journal> {
    Arc::new(MemoryJournal::new(|| Time::from_millis(1_790_000_000_000)))
}

fn plan() -> Arc<Plan> {
    let mut plan = PlanBuilder::new("conformance");
    for step in 0..STEPS {
        let retry = RetryPolicy { lost: 100, ..RetryPolicy::default() };
        plan.step(&format!("step-{step}"), StepSpec { retry, ..StepSpec::default() });
    }
    Arc::new(plan.build().expect("a valid plan"))
}

fn key() -> MailboxKey {
    MailboxKey::new("conformance", Some("secret"))
}

/// A leader that is bound to the mailboxes.
struct LinkTestLeader {
    handle: NodeHandle,
    final_status: LeaderFinalStatus,
    node: JoinHandle<()>,
    mailbox_server: JoinHandle<()>,
    shutdown: ShutdownSender,
}

impl LinkTestLeader {
    async fn begin(
        mailboxes: &Arc<dyn Mailboxes>,
        journal: &Arc<dyn Journal>,
    ) -> Result<Self, CheckDifference> {
        let config = NodeConfig {
            candidate: LeaderCandidate { node: "leader".to_owned(), address: None },
            engine: EngineConfig::default(),
            ttl: TTL,
            own: None,
            stand_by: StandbyPolicy::Wait,
            clock: ProcessClock::runtime(),
            leader_socket: None,
        };
        let node = ControllerNode::open(Arc::clone(journal), config).await;
        let (node, handle) = node.map_err(|error| CheckDifference::new(error.to_string()))?;
        let (shutdown, ends) = ShutdownSender::new();
        let node = node.run(ends.clone());
        let node = tokio::spawn(async move { drop(node.await) });
        let histories = Arc::new(RunHistories::default());
        let intake = LogIngest::new(handle.clone(), histories, Arc::new(MemoryLogs::new()));
        let terms = MailboxServerOptions {
            term: BINDING_TERM,
            ..MailboxServerOptions::of("leader".to_owned())
        };
        let place = (Arc::clone(mailboxes), key());
        let server =
            MailboxServer::bind(place, terms, "conformance".to_owned(), (handle.clone(), intake))
                .await;
        let server = server.map_err(|error| CheckDifference::new(error.to_string()))?;
        let final_status = server.final_status();
        let server = tokio::spawn(async move { drop(server.run(ends).await) });
        Ok(Self { handle, final_status, node, mailbox_server: server, shutdown })
    }

    async fn submit(&self) -> CheckResult {
        let submit = EngineRequest::Submit(SubmitRun::new(RUN, plan()));
        let submitted = self.handle.ask(submit).await;
        expect_true("the leader does not lead", submitted.is_ok())
    }

    /// Waits for the end of the run and checks that every step succeeded once.
    async fn expect_success(&self, workers: &LinkTestWorkers) -> CheckResult {
        let began = Instant::now();
        let ended = loop {
            let status = self.handle.views().with(|view| view.engine.run_status(RUN));
            if status.is_some_and(RunStatus::is_terminal) || began.elapsed() > ENDS_WITHIN {
                break status;
            }
            sleep(Duration::from_millis(5)).await;
        };
        expect_same("status of the run", &ended, &Some(RunStatus::Succeeded))?;
        let seen = workers.recorder.seen();
        expect_same("started steps", &seen.steps.len(), &STEPS)?;
        expect_same("leases started twice", &seen.twice, &0)
    }

    /// Ends as in a crash: without a message, and with a binding that lasts until its term ends.
    async fn crash(self, journal: &dyn Journal) {
        let term = self.handle.views().with(|view| view.engine.term());
        self.mailbox_server.abort();
        self.node.abort();
        drop((self.mailbox_server.await, self.node.await));
        // In a journal in memory, a term ends with its process.
        drop(journal.resign(term).await);
    }
}

/// Three workers, and the faults between them and the leader.
struct LinkTestWorkers {
    mailboxes: Mutex<Vec<FaultyMailboxes>>,
    faults: MailboxFaults,
    recorder: Arc<StartRecorder>,
    workers: Vec<JoinHandle<Result<(), WorkerError>>>,
}

impl LinkTestWorkers {
    fn start_workers(
        harness: &dyn StorageHarness<dyn Mailboxes>,
        faults: MailboxFaults,
    ) -> Result<Self, CheckDifference> {
        let (mailboxes, recorder) = (Mutex::default(), Arc::new(StartRecorder::default()));
        let mut workers = Self { mailboxes, faults, recorder, workers: Vec::new() };
        for number in 0..3 {
            let worker = start_worker(&workers.open_mailboxes(harness), number, &workers.recorder)
                .map_err(|error| CheckDifference::new(error.to_string()))?;
            workers.workers.push(worker);
        }
        Ok(workers)
    }

    /// Another handle on the mailboxes, with the same faults.
    fn open_mailboxes(&self, harness: &dyn StorageHarness<dyn Mailboxes>) -> Arc<dyn Mailboxes> {
        let mut opened = self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner);
        let mailboxes = FaultyMailboxes::new(harness.open(), self.faults, opened.len() as u64);
        opened.push(mailboxes.clone());
        Arc::new(mailboxes)
    }

    fn set_disconnected(&self, is_cut: bool) {
        let opened = self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner);
        opened.iter().for_each(|mailboxes| mailboxes.set_disconnected(is_cut));
    }

    async fn has_begun(&self) -> CheckResult {
        let began = Instant::now();
        while self.recorder.seen().steps.len() < 3 {
            expect_true("no step was started", began.elapsed() < ENDS_WITHIN)?;
            sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }
}

impl Drop for LinkTestWorkers {
    fn drop(&mut self) {
        self.workers.iter().for_each(JoinHandle::abort);
    }
}

fn start_worker(
    mailboxes: &Arc<dyn Mailboxes>,
    number: usize,
    recorder: &Arc<StartRecorder>,
) -> std::io::Result<JoinHandle<Result<(), WorkerError>>> {
    let secret = WorkerSecret::generate()?;
    let (link, receive_loop) = MailboxWorkerLink::new(Arc::clone(mailboxes), key(), &secret)?;
    let executor = RecordingExecutor(Arc::clone(recorder));
    let worker = test_worker(&secret, number, (Arc::new(link), Arc::new(executor)));
    Ok(tokio::spawn(async move {
        let (_open, ends) = ShutdownSender::new();
        let receive_loop = tokio::spawn(receive_loop.run(ends.clone()));
        let ended = worker.run(ends).await;
        receive_loop.abort();
        ended
    }))
}

/// Records the steps that workers start.
#[derive(Debug, Default)]
struct StartRecorder(Mutex<RecordedStarts>);

#[derive(Debug, Default)]
struct RecordedStarts {
    fences: BTreeSet<Fence>,
    twice: usize,
    steps: BTreeMap<Box<str>, usize>,
}

impl StartRecorder {
    fn seen(&self) -> MutexGuard<'_, RecordedStarts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records the start of each step, which then takes 20 ms.
#[derive(Debug)]
struct RecordingExecutor(Arc<StartRecorder>);

impl Executor for RecordingExecutor {
    fn start(&self, grant: LeaseGrant, _: watch::Receiver<AttemptOrders>) -> AttemptFuture {
        let mut seen = self.0.seen();
        let is_new = seen.fences.insert(grant.lease.fence);
        seen.twice += usize::from(!is_new);
        *seen.steps.entry(grant.name).or_default() += 1;
        Box::pin(async {
            sleep(Duration::from_millis(20)).await;
            Outcome::exit(0)
        })
    }
}
