//! The network: streams between workers and the leader, and their faults.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::io::{
    AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use windlass_controller::api::{ConnectionListener, ConnectionPeer, IncomingConnection};
use windlass_net::http::{ConnectionStream, ControllerAddress, DialFuture, Dialer};

/// Bytes in a pipe before its writer waits.
const PIPE: usize = 64 << 10;

/// The time until a connection to an unreachable host fails.
const NO_ROUTE: Duration = Duration::from_secs(1);

/// The interval in which a stalled stream checks whether it may continue.
const LOOK: Duration = Duration::from_millis(50);

/// Pseudorandom numbers from a seed.
#[derive(Debug)]
pub(super) struct NetworkRng(u64);

impl NetworkRng {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }

    pub(super) fn millis(&mut self, bound: u64) -> Duration {
        Duration::from_millis(self.below(bound))
    }
}

/// The direction of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TrafficDirection {
    ToLeader,
    ToWorker,
}

/// The network of one test.
#[derive(Clone, Debug)]
pub(super) struct FaultyNetwork(Arc<FaultyNetworkState>);

#[derive(Debug)]
struct FaultyNetworkState {
    chance: Mutex<NetworkRng>,
    /// One of this many pieces breaks its connection; 0 means none.
    breaks: u64,
    /// The directions in which no bytes pass.
    cut: Mutex<BTreeSet<(usize, TrafficDirection)>>,
    /// The leader, if it listens.
    doors: Mutex<Option<mpsc::Sender<DuplexStream>>>,
}

impl FaultyNetwork {
    pub(super) fn new(seed: u64, breaks: u64) -> Self {
        Self(Arc::new(FaultyNetworkState {
            chance: Mutex::new(NetworkRng::new(seed)),
            breaks,
            cut: Mutex::default(),
            doors: Mutex::default(),
        }))
    }

    /// A new leader listens; the former one is unreachable from now on.
    pub(super) fn doors(&self) -> NetworkListener {
        let (sender, receiver) = mpsc::channel(64);
        *hold(&self.0.doors) = Some(sender);
        NetworkListener(receiver)
    }

    /// No leader listens.
    pub(super) fn close_doors(&self) {
        *hold(&self.0.doors) = None;
    }

    /// The connection of a worker to the leader.
    pub(super) fn way_of(&self, worker: usize) -> Arc<dyn Dialer> {
        Arc::new(DirectionState { network: self.clone(), worker })
    }

    pub(super) fn cut(&self, worker: usize, way: TrafficDirection) {
        hold(&self.0.cut).insert((worker, way));
    }

    pub(super) fn mend(&self, worker: usize) {
        hold(&self.0.cut).retain(|(cut, _)| *cut != worker);
    }

    pub(super) fn chance<T>(&self, draw: impl FnOnce(&mut NetworkRng) -> T) -> T {
        draw(&mut hold(&self.0.chance))
    }

    fn is_cut(&self, worker: usize, way: TrafficDirection) -> bool {
        hold(&self.0.cut).contains(&(worker, way))
    }

    async fn connect(&self, worker: usize) -> io::Result<Box<dyn ConnectionStream>> {
        sleep(self.chance(|chance| chance.millis(5))).await;
        if self.is_cut(worker, TrafficDirection::ToLeader)
            || self.is_cut(worker, TrafficDirection::ToWorker)
        {
            sleep(NO_ROUTE).await;
            return Err(ErrorKind::TimedOut.into());
        }
        let doors = hold(&self.0.doors).clone();
        let doors = doors.ok_or(io::Error::from(ErrorKind::ConnectionRefused))?;
        let (near, worker_end) = duplex(PIPE);
        let (far, leader_end) = duplex(PIPE);
        let refused = |_| io::Error::from(ErrorKind::ConnectionRefused);
        doors.send(leader_end).await.map_err(refused)?;
        self.join(worker, near, far);
        Ok(Box::new(worker_end))
    }

    /// Copies bytes between two ends until one is closed or the connection breaks.
    fn join(&self, worker: usize, near: DuplexStream, far: DuplexStream) {
        let (broken, breaks) = watch::channel(false);
        let broken = Arc::new(broken);
        let ((near_out, near_in), (far_out, far_in)) = (split(near), split(far));
        for (from, to, way) in [
            (near_out, far_in, TrafficDirection::ToLeader),
            (far_out, near_in, TrafficDirection::ToWorker),
        ] {
            let pump =
                StreamPump { network: self.clone(), worker, way, broken: Arc::clone(&broken) };
            let mut breaks = breaks.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = pump.run(from, to) => {}
                    _ = breaks.wait_for(|broken| *broken) => {}
                }
            });
        }
    }
}

struct StreamPump {
    network: FaultyNetwork,
    worker: usize,
    way: TrafficDirection,
    broken: Arc<watch::Sender<bool>>,
}

impl StreamPump {
    async fn run(&self, mut from: ReadHalf<DuplexStream>, mut to: WriteHalf<DuplexStream>) {
        let mut piece = vec![0; 4 << 10];
        while let Ok(count @ 1..) = from.read(&mut piece).await {
            let breaks = self.network.0.breaks;
            let (delay, breaks) = self.network.chance(|chance| {
                // Most pieces are fast, and some are slow.
                let slow = chance.below(20) == 0;
                let delay = chance.millis(if slow { 400 } else { 4 });
                (delay, breaks > 0 && chance.below(breaks) == 0)
            });
            sleep(delay).await;
            while self.network.is_cut(self.worker, self.way) {
                sleep(LOOK).await;
            }
            if breaks || to.write_all(&piece[..count]).await.is_err() {
                break;
            }
        }
        drop(to.shutdown().await);
        self.broken.send_replace(true);
    }
}

#[derive(Debug)]
struct DirectionState {
    network: FaultyNetwork,
    worker: usize,
}

impl Dialer for DirectionState {
    fn dial<'a>(&'a self, _: &'a ControllerAddress) -> DialFuture<'a> {
        Box::pin(self.network.connect(self.worker))
    }
}

/// A leader's end of the network.
#[derive(Debug)]
pub(super) struct NetworkListener(mpsc::Receiver<DuplexStream>);

impl ConnectionListener for NetworkListener {
    async fn accept(&mut self) -> io::Result<IncomingConnection> {
        match self.0.recv().await {
            Some(stream) => Ok(IncomingConnection::plain(
                ConnectionPeer::Remote(Ipv4Addr::LOCALHOST.into()),
                stream,
            )),
            // Another leader listens now, so this one gets no more connections.
            None => std::future::pending().await,
        }
    }
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding it")
}
