//! A leader and workers that exchange messages through mailboxes, started in one line each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use windlass::core::id::{Incarnation, RunId, WorkerId};
use windlass::core::outcome::{Outcome, OutcomeKind, RunStatus};
use windlass::core::requirement::{Labels, WorkerScope};
use windlass::core::session::{
    FormerIncarnationProof, LeaseGrant, RegisterRequest, WorkerLocality,
};
use windlass::core::time::Span;
use windlass_controller::mailbox_server::{
    LeaderFinalStatus, MailboxServer, MailboxServerError, MailboxServerOptions,
};
use windlass_controller::{LogIngest, RunHistories};
use windlass_link::mailbox::{MailboxKey, MailboxWorkerLink, Mailboxes};
use windlass_link::output::SpooledLogs;
use windlass_net::credentials::WorkerSecret;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::logs::{LogId, LogStore, MemoryLogs};
use windlass_worker::{
    AttemptFuture, AttemptOrders, Executor, PeerWorkers, ProcessClock, WorkerError, WorkerRuntime,
};

use crate::controller::test_node::{TestJournal, TestNode, pass, start};

pub(super) const GRACE: Duration = Duration::from_secs(30);

pub(super) fn key() -> MailboxKey {
    MailboxKey::new("run-7", Some("secret"))
}

/// A leader that serves these mailboxes.
pub(super) struct MailboxLeader {
    pub(super) node: TestNode,
    pub(super) logs: Arc<MemoryLogs>,
    pub(super) final_status: LeaderFinalStatus,
    shutdown: ShutdownSender,
    server: JoinHandle<Result<(), MailboxServerError>>,
}

impl MailboxLeader {
    pub(super) async fn start(
        journal: &Arc<TestJournal>,
        mailboxes: &Arc<dyn Mailboxes>,
    ) -> Result<Self, MailboxServerError> {
        let node = start(journal, "ann").await;
        node.led().await;
        let logs = Arc::new(MemoryLogs::new());
        let kept: Arc<dyn LogStore> = Arc::clone(&logs) as _;
        let intake = LogIngest::new(node.handle.clone(), Arc::new(RunHistories::default()), kept);
        let terms = MailboxServerOptions {
            link_grace: GRACE,
            ..MailboxServerOptions::of("ann, pid 7".to_owned())
        };
        let place = (Arc::clone(mailboxes), key());
        let server =
            MailboxServer::bind(place, terms, "ours".to_owned(), (node.handle.clone(), intake))
                .await?;
        let (shutdown, ends) = ShutdownSender::new();
        let final_status = server.final_status();
        Ok(Self { node, logs, final_status, shutdown, server: tokio::spawn(server.run(ends)) })
    }

    /// Waits until a run has ended, and returns its status.
    pub(super) async fn ended(&self, run: RunId) -> RunStatus {
        loop {
            if let Some(status) = self.node.run_status(run).filter(|it| it.is_terminal()) {
                return status;
            }
            pass(Span::millis(5)).await;
        }
    }

    /// Shuts down gracefully.
    pub(super) async fn end(self) -> Result<(), MailboxServerError> {
        self.shutdown.shut_down();
        self.server.await.expect("it does not panic")
    }

    /// Ends as in a crash.
    pub(super) async fn crash(self, journal: &TestJournal) {
        self.server.abort();
        drop(self.server.await);
        self.node.crash(journal).await;
    }

    /// Returns the reason why its mailbox server ended by itself.
    pub(super) async fn server_ends(self) -> Result<(), MailboxServerError> {
        self.server.await.expect("it does not panic")
    }
}

/// The attempts of the workers.
#[derive(Debug, Default)]
pub(super) struct MailboxWitness(Mutex<BTreeMap<(RunId, Box<str>), u32>>);

impl MailboxWitness {
    pub(super) fn starts(&self) -> MutexGuard<'_, BTreeMap<(RunId, Box<str>), u32>> {
        self.0.lock().expect("nobody panics")
    }
}

/// Runs steps that take a while and print their names. The step `long` never ends.
#[derive(Debug)]
struct MailboxExecutor {
    witness: Arc<MailboxWitness>,
    logs: Arc<dyn LogStore>,
}

impl Executor for MailboxExecutor {
    fn start(
        &self,
        grant: LeaseGrant,
        mut orders: watch::Receiver<AttemptOrders>,
    ) -> AttemptFuture {
        let name = grant.name.clone();
        *self.witness.starts().entry((grant.lease.run, name.clone())).or_default() += 1;
        let log =
            LogId::new(grant.lease.run, grant.lease.step, grant.lease.attempt, grant.delivery);
        let logs = Arc::clone(&self.logs);
        let takes = if &*name == "long" { Duration::MAX } else { Duration::from_millis(20) };
        Box::pin(async move {
            tokio::select! {
                () = sleep(takes) => {}
                _ = orders.wait_for(|orders| orders.stop.is_some()) => {
                    return Outcome::plain(OutcomeKind::Cancelled);
                }
            }
            let said = format!("this is {name}\n").into_bytes();
            logs.append(log, 0, said).await.expect("there is room");
            logs.close(log).await.expect("there is room");
            Outcome::exit(0)
        })
    }
}

/// The registration of the worker with this number.
pub(super) fn register(worker: WorkerId) -> RegisterRequest {
    RegisterRequest {
        worker,
        name: format!("{worker:?}").into(),
        incarnation: Incarnation(1),
        labels: Labels::default(),
        slots: 2,
        locality: WorkerLocality::Apart,
        scope: WorkerScope::AllRuns,
        former: FormerIncarnationProof::Unknown,
        spooled: Vec::new(),
    }
}

/// A worker that runs.
pub(super) struct MailboxWorker {
    pub(super) secret: WorkerSecret,
    pub(super) link: MailboxWorkerLink,
    running: JoinHandle<Result<(), WorkerError>>,
    _postman: ShutdownSender,
    _folder: TempDir,
}

impl MailboxWorker {
    pub(super) fn join(mailboxes: &Arc<dyn Mailboxes>, witness: &Arc<MailboxWitness>) -> Self {
        Self::with_key(mailboxes, witness, key())
    }

    pub(super) fn with_key(
        mailboxes: &Arc<dyn Mailboxes>,
        witness: &Arc<MailboxWitness>,
        key: MailboxKey,
    ) -> Self {
        let secret = WorkerSecret::generate().expect("there is chance");
        let (link, receive_loop) =
            MailboxWorkerLink::new(Arc::clone(mailboxes), key, &secret).expect("there is chance");
        let folder = TempDir::new().expect("a folder");
        let (logs, shipping) =
            SpooledLogs::open(folder.path().join("logs"), Arc::new(link.clone()))
                .expect("it can be written");
        let (sender, ends) = ShutdownSender::new();
        tokio::spawn(receive_loop.run(ends.clone()));
        tokio::spawn(shipping.run(ends));
        let worker = WorkerRuntime {
            register: register(secret.worker_id()),
            capacity: 8,
            leases_expire: true,
            peers: PeerWorkers::Possible,
            clock: ProcessClock::runtime(),
            leader_grace: Some(GRACE),
            membership: None,
            link: Arc::new(link.clone()),
            executor: Arc::new(MailboxExecutor {
                witness: Arc::clone(witness),
                logs: Arc::new(logs),
            }),
        };
        let running = tokio::spawn(async move {
            let (_never, ends) = ShutdownSender::new();
            worker.run(ends).await
        });
        Self { secret, link, running, _postman: sender, _folder: folder }
    }

    /// Returns how the worker ended.
    pub(super) async fn ends(self) -> Result<(), WorkerError> {
        self.running.await.expect("it does not panic")
    }

    /// Ends without a message.
    pub(super) fn die(&self) {
        self.running.abort();
    }
}
