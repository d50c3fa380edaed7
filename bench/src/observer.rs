//! Workers of a cluster inside the benchmark: one records when it receives steps, and many are idle.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinHandle;
use windlass_core::id::Incarnation;
use windlass_core::outcome::Outcome;
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::{FormerIncarnationProof, LeaseGrant, RegisterRequest, WorkerLocality};
use windlass_link::WorkerLink;
use windlass_link::http::HttpWorkerLink;
use windlass_link::mailbox::{MailboxAddress, MailboxKey, MailboxRegistry, MailboxWorkerLink};
use windlass_net::credentials::WorkerSecret;
use windlass_net::http::{ClientCredentials, ControllerAddress, HttpClient, TcpDialer};
use windlass_net::shutdown::{ShutdownReceiver, ShutdownSender};
use windlass_worker::{
    AttemptFuture, AttemptOrders, Executor, PeerWorkers, ProcessClock, WorkerError, WorkerRuntime,
};

use crate::deadline::{WAIT_MAX, within};
use crate::engine_fleet::now;

/// The maximum number of attempts that wait to be read.
const NOTICES_MAX: usize = 1_024;

/// Records when it receives each attempt, and ends it.
#[derive(Debug)]
pub(crate) struct ObserverExecutor {
    sender: SyncSender<Instant>,
    /// The duration of each attempt.
    pace: Duration,
}

impl ObserverExecutor {
    /// An executor, and the times at which it received attempts, in order.
    pub(crate) fn new() -> (Self, DeliveryNotices) {
        Self::at_a_pace(Duration::ZERO)
    }

    /// Does the same for attempts with this duration.
    pub(crate) fn at_a_pace(pace: Duration) -> (Self, DeliveryNotices) {
        let (sender, receiver) = sync_channel(NOTICES_MAX);
        (Self { sender, pace }, DeliveryNotices(receiver))
    }
}

impl Executor for ObserverExecutor {
    fn start(&self, _grant: LeaseGrant, _orders: watch::Receiver<AttemptOrders>) -> AttemptFuture {
        let _ = self.sender.try_send(now());
        let pace = self.pace;
        Box::pin(async move {
            if !pace.is_zero() {
                tokio::time::sleep(pace).await;
            }
            Outcome::exit(0)
        })
    }
}

/// The times at which an executor received attempts.
#[derive(Debug)]
pub(crate) struct DeliveryNotices(Receiver<Instant>);

impl DeliveryNotices {
    /// Returns the time of the next attempt; `what` names the awaited event.
    pub(crate) fn next(&self, what: &str) -> Instant {
        let came = self.0.recv_timeout(WAIT_MAX);
        came.unwrap_or_else(|_| panic!("waited {WAIT_MAX:?} for {what}"))
    }

    /// Discards the times that were not read.
    pub(crate) fn drain(&self) {
        self.0.try_iter().for_each(drop);
    }
}

/// Workers that end together.
#[derive(Debug)]
pub(crate) struct ObserverWorkers {
    ends: ShutdownSender,
    shutdown: ShutdownReceiver,
    workers: Vec<JoinHandle<Result<(), WorkerError>>>,
    /// Their mailbox links, kept until the last worker has ended, because its end waits for a reply too.
    receive_loops: Vec<ShutdownSender>,
}

impl ObserverWorkers {
    pub(crate) fn new() -> Self {
        let (ends, shutdown) = ShutdownSender::new();
        Self { ends, shutdown, workers: Vec::new(), receive_loops: Vec::new() }
    }

    /// Lets another worker join a cluster, over its own connections.
    pub(crate) fn join(
        &mut self,
        places: &[ControllerAddress],
        label: &str,
        executor: Arc<dyn Executor>,
    ) {
        let secret = WorkerSecret::generate().expect("the system has random bytes");
        let credentials = ClientCredentials { token: None, worker: Some(secret.clone()) };
        let client = HttpClient::new(Arc::new(TcpDialer), credentials);
        let link = Arc::new(HttpWorkerLink::new(Arc::new(client), places.to_vec()));
        self.work(&secret, link, label, executor);
    }

    /// Lets another worker join a cluster through mailboxes.
    pub(crate) fn join_by_mailbox(&mut self, url: &str, label: &str, executor: Arc<dyn Executor>) {
        let secret = WorkerSecret::generate().expect("the system has random bytes");
        let site = MailboxAddress {
            url: url.to_owned(),
            run: MailboxAddress::CLUSTER.to_owned(),
            ca: None,
        };
        let mailboxes = MailboxRegistry::built_in().open(&site).expect("it is an address");
        let key = MailboxKey::new(&site.run, None);
        let joined = MailboxWorkerLink::new(mailboxes, key, &secret);
        let (link, postman) = joined.expect("the system has random bytes");
        let (ends, told) = ShutdownSender::new();
        tokio::spawn(postman.run(told));
        self.receive_loops.push(ends);
        self.work(&secret, Arc::new(link), label, executor);
    }

    fn work(
        &mut self,
        secret: &WorkerSecret,
        link: Arc<dyn WorkerLink>,
        label: &str,
        executor: Arc<dyn Executor>,
    ) {
        let register = RegisterRequest {
            worker: secret.worker_id(),
            name: format!("{label}-{}", self.workers.len()).into(),
            incarnation: Incarnation(1),
            labels: Labels::new([label, "executor=noop"]),
            slots: 1,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::AllRuns,
            former: FormerIncarnationProof::Unknown,
            spooled: Vec::new(),
        };
        let worker = WorkerRuntime {
            register,
            capacity: 1,
            leases_expire: true,
            peers: PeerWorkers::Possible,
            clock: ProcessClock::since_boot(),
            leader_grace: None,
            membership: None,
            link,
            executor,
        };
        self.workers.push(tokio::spawn(worker.run(self.shutdown.clone())));
    }

    /// Ends all workers.
    pub(crate) async fn end(self) {
        self.ends.shut_down();
        for worker in self.workers {
            let ended = within("a worker to end", worker).await;
            ended.expect("it does not panic").expect("it is not refused");
        }
        self.receive_loops.iter().for_each(ShutdownSender::shut_down);
    }
}
