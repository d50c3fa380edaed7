//! The limit of connections, and the choice of the connection that is closed for a new one.
//!
//! A connection without a request is *idle*: between two requests, before the first, or while a head arrives slowly. At the
//! limit, the connection that has been idle longest is closed for a new one, so that clients that send nothing keep no
//! other client out. If no connection is idle, the new one is closed without an answer, since an answer would use the
//! resource that is exhausted.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::listener::ConnectionPeer;

/// The connections of a server.
#[derive(Debug)]
pub(super) struct ConnectionLimit {
    max: usize,
    max_per_address: usize,
    open: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    last: u64,
    connections: BTreeMap<u64, OpenConnection>,
    of_address: BTreeMap<IpAddr, usize>,
}

#[derive(Debug)]
struct OpenConnection {
    peer: ConnectionPeer,
    idle_since: Option<Instant>,
    evict: Arc<Notify>,
}

impl ConnectionLimit {
    /// Creates a limit for all connections, and one for each address.
    pub(super) fn new(most: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { max: most, max_per_address: most_of_one, open: Mutex::default() })
    }

    /// Returns a permit for a new connection; `None` if the limit is reached and no connection is idle.
    pub(super) fn take(
        self: &Arc<Self>,
        peer: ConnectionPeer,
        now: Instant,
    ) -> Option<ConnectionPermit> {
        let mut taken = self.taken();
        if taken.count_of(peer) >= self.max_per_address && !taken.evict(Some(peer)) {
            return None;
        }
        if taken.connections.len() >= self.max && !taken.evict(None) {
            return None;
        }
        let (number, leave) = taken.open(peer, now);
        Some(ConnectionPermit { limit: Arc::clone(self), number, evict: leave })
    }

    /// Closes the connection that has been idle longest, because another resource than connections is exhausted.
    pub(super) fn evict_idle(&self) {
        self.taken().evict(None);
    }

    fn taken(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    fn open(&mut self, peer: ConnectionPeer, now: Instant) -> (u64, Arc<Notify>) {
        self.last += 1;
        let leave = Arc::new(Notify::new());
        let seat = OpenConnection { peer, idle_since: Some(now), evict: Arc::clone(&leave) };
        self.connections.insert(self.last, seat);
        if let ConnectionPeer::Remote(address) = peer {
            *self.of_address.entry(address).or_default() += 1;
        }
        (self.last, leave)
    }

    fn count_of(&self, peer: ConnectionPeer) -> usize {
        match peer {
            ConnectionPeer::Local => 0,
            ConnectionPeer::Remote(address) => self.of_address.get(&address).copied().unwrap_or(0),
        }
    }

    /// Closes the connection that has been idle longest, of this peer if one is given. Returns whether there was one.
    fn evict(&mut self, peer: Option<ConnectionPeer>) -> bool {
        let seats =
            self.connections.iter().filter(|(_, seat)| peer.is_none_or(|peer| peer == seat.peer));
        let idle = seats.filter_map(|(number, seat)| Some((seat.idle_since?, *number)));
        let Some((_, longest)) = idle.min() else { return false };
        if let Some(seat) = self.leave(longest) {
            seat.evict.notify_one();
        }
        true
    }

    /// Removes a connection, if it is still open.
    fn leave(&mut self, number: u64) -> Option<OpenConnection> {
        let seat = self.connections.remove(&number)?;
        if let ConnectionPeer::Remote(address) = seat.peer
            && let Some(count) = self.of_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                self.of_address.remove(&address);
            }
        }
        Some(seat)
    }
}

/// The permit of a connection, which is returned when it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    limit: Arc<ConnectionLimit>,
    number: u64,
    evict: Arc<Notify>,
}

impl ConnectionPermit {
    /// Waits until the connection has to close.
    pub(super) async fn evicted(&self) {
        self.evict.notified().await;
    }

    /// Marks the connection as busy with a request, until the result is dropped.
    pub(super) fn busy(self: &Arc<Self>) -> BusyConnection {
        self.set_idle(None);
        BusyConnection(Arc::clone(self))
    }

    fn set_idle(&self, since: Option<Instant>) {
        if let Some(seat) = self.limit.taken().connections.get_mut(&self.number) {
            seat.idle_since = since;
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.limit.taken().leave(self.number);
    }
}

/// A connection with a request whose answer is not complete.
#[derive(Debug)]
pub(super) struct BusyConnection(Arc<ConnectionPermit>);

impl Drop for BusyConnection {
    fn drop(&mut self) {
        self.0.set_idle(Some(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const A: ConnectionPeer =
        ConnectionPeer::Remote(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)));
    const B: ConnectionPeer =
        ConnectionPeer::Remote(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)));

    /// A limit, with a time that grows with each connection.
    struct ConnectionLimitTest(Arc<ConnectionLimit>, Instant);

    impl ConnectionLimitTest {
        fn take(&mut self, peer: ConnectionPeer) -> Option<Arc<ConnectionPermit>> {
            self.1 += Duration::from_secs(1);
            self.0.take(peer, self.1).map(Arc::new)
        }

        fn is_open(&self, seated: &Arc<ConnectionPermit>) -> bool {
            self.0.taken().connections.contains_key(&seated.number)
        }
    }

    #[tokio::test]
    async fn longest_idle_connection_is_closed_first_and_busy_ones_stay() {
        let mut hall = ConnectionLimitTest(ConnectionLimit::new(3, 3), Instant::now());
        let [first, second, third] = [A, B, A].map(|peer| hall.take(peer).unwrap());
        let busy = first.busy();
        let fourth = hall.take(B).expect("the second is closed for it");
        second.evicted().await;
        assert!(hall.is_open(&first) && !hall.is_open(&second) && hall.is_open(&third));
        let _more = [third.busy(), fourth.busy()];
        assert!(hall.take(A).is_none(), "no connection is idle");
        drop(busy);
        assert!(hall.take(A).is_some());
        assert!(!hall.is_open(&first));
    }

    #[tokio::test]
    async fn one_address_cannot_take_all_connections() {
        let mut hall = ConnectionLimitTest(ConnectionLimit::new(4, 2), Instant::now());
        let [one, two, other] = [A, A, B].map(|peer| hall.take(peer).unwrap());
        let third = hall.take(A).expect("the first of the same address is closed for it");
        assert!(!hall.is_open(&one) && hall.is_open(&two) && hall.is_open(&other));
        let _busy = [two.busy(), third.busy()];
        assert!(hall.take(A).is_none(), "although there is room for another address");
        assert!(hall.take(B).is_some());
        let local = [(); 3].map(|()| hall.take(ConnectionPeer::Local));
        assert!(local.iter().all(Option::is_some), "local connections have no address");
    }

    #[test]
    fn closed_connection_frees_its_slot() {
        let mut hall = ConnectionLimitTest(ConnectionLimit::new(4, 2), Instant::now());
        let crowd: Vec<_> = (0..10).map(|_| hall.take(A)).collect();
        drop(crowd);
        assert!(hall.0.taken().connections.is_empty() && hall.0.taken().of_address.is_empty());
    }
}
