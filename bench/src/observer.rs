//! Workers of a cluster that live in the benchmark: one that tells when it was handed what, and many that do nothing.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinHandle;
use windlass::link::http::{Client, Credentials, HttpLink, Place, Tcp};
use windlass::link::post::{Key, Links, PostLink, Site};
use windlass::link::{Link, WorkerSecret};
use windlass::shutdown::{Shutdown, ShutdownSender};
use windlass::worker::{Attempt, Beside, Clock, Executor, Orders, Worker, WorkerError};
use windlass_core::id::Incarnation;
use windlass_core::outcome::Outcome;
use windlass_core::requirement::Labels;
use windlass_core::session::{FormerLife, Grant, Home, Register};

use crate::fleet::now;
use crate::patience::{PATIENCE, within};

/// Attempts that may wait to be noticed.
const NOTICES_MAX: usize = 1_024;

/// Notes when each attempt is handed to it, and ends it.
#[derive(Debug)]
pub(crate) struct Notes {
    sender: SyncSender<Instant>,
    /// How long each takes.
    pace: Duration,
}

impl Notes {
    /// An executor, and when it was handed attempts, in order.
    pub(crate) fn new() -> (Self, Notices) {
        Self::at_a_pace(Duration::ZERO)
    }

    /// The same, of attempts that take so long each.
    pub(crate) fn at_a_pace(pace: Duration) -> (Self, Notices) {
        let (sender, receiver) = sync_channel(NOTICES_MAX);
        (Self { sender, pace }, Notices(receiver))
    }
}

impl Executor for Notes {
    fn start(&self, _grant: Grant, _orders: watch::Receiver<Orders>) -> Attempt {
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

/// When attempts were handed to an executor.
#[derive(Debug)]
pub(crate) struct Notices(Receiver<Instant>);

impl Notices {
    /// When the next one was; `what` is what is waited for.
    pub(crate) fn next(&self, what: &str) -> Instant {
        let came = self.0.recv_timeout(PATIENCE);
        came.unwrap_or_else(|_| panic!("waited {PATIENCE:?} for {what}"))
    }

    /// Forgets what has not been asked for.
    pub(crate) fn drain(&self) {
        self.0.try_iter().for_each(drop);
    }
}

/// Workers that are told to end together.
#[derive(Debug)]
pub(crate) struct Hands {
    ends: ShutdownSender,
    shutdown: Shutdown,
    workers: Vec<JoinHandle<Result<(), WorkerError>>>,
    /// What brings their letters: until the last of them has ended, since that waits for an answer too.
    postmen: Vec<ShutdownSender>,
}

impl Hands {
    pub(crate) fn new() -> Self {
        let (ends, shutdown) = ShutdownSender::new();
        Self { ends, shutdown, workers: Vec::new(), postmen: Vec::new() }
    }

    /// Has one more join a cluster, over connections of its own.
    pub(crate) fn join(&mut self, places: &[Place], label: &str, executor: Arc<dyn Executor>) {
        let secret = WorkerSecret::generate().expect("the system has random bytes");
        let credentials = Credentials { token: None, worker: Some(secret.clone()) };
        let client = Client::new(Arc::new(Tcp), credentials);
        let link = Arc::new(HttpLink::new(Arc::new(client), places.to_vec()));
        self.work(&secret, link, label, executor);
    }

    /// Has one more join a cluster, by letters.
    pub(crate) fn join_by_letters(&mut self, url: &str, label: &str, executor: Arc<dyn Executor>) {
        let secret = WorkerSecret::generate().expect("the system has random bytes");
        let site = Site { url: url.to_owned(), run: Site::CLUSTER.to_owned(), ca: None };
        let mailboxes = Links::built_in().open(&site).expect("it is an address");
        let key = Key::new(&site.run, None);
        let joined = PostLink::new(mailboxes, key, &secret);
        let (link, postman) = joined.expect("the system has random bytes");
        let (ends, told) = ShutdownSender::new();
        tokio::spawn(postman.run(told));
        self.postmen.push(ends);
        self.work(&secret, Arc::new(link), label, executor);
    }

    fn work(
        &mut self,
        secret: &WorkerSecret,
        link: Arc<dyn Link>,
        label: &str,
        executor: Arc<dyn Executor>,
    ) {
        let register = Register {
            worker: secret.worker_id(),
            name: format!("{label}-{}", self.workers.len()).into(),
            incarnation: Incarnation(1),
            labels: Labels::new([label, "executor=noop"]),
            slots: 1,
            home: Home::Apart,
            former: FormerLife::Unknown,
            spooled: Vec::new(),
        };
        let worker = Worker {
            register,
            capacity: 1,
            leases_expire: true,
            beside: Beside::Others,
            clock: Clock::of_machine(),
            leader_grace: None,
            memory: None,
            link,
            executor,
        };
        self.workers.push(tokio::spawn(worker.run(self.shutdown.clone())));
    }

    /// Ends all of them.
    pub(crate) async fn end(self) {
        self.ends.shut_down();
        for worker in self.workers {
            let ended = within("a worker to end", worker).await;
            ended.expect("it does not panic").expect("it is not refused");
        }
        self.postmen.iter().for_each(ShutdownSender::shut_down);
    }
}
