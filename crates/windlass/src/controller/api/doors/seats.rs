//! How many connections there may be, and who has to go when one more comes.
//!
//! A connection without a request is *idle*: between two requests, before the first, or while the head of one trickles in.
//! Whoever comes when all seats are taken gets that of the one that has been idle longest, so that many who sit there and
//! say nothing keep nobody out. Only where nobody is idle the newcomer is turned away, by closing the connection: an answer
//! would take what there is too little of.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::accept::Peer;

/// The seats of a server.
#[derive(Debug)]
pub(super) struct Seats {
    most: usize,
    most_of_one: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    last: u64,
    seats: BTreeMap<u64, Seat>,
    of_address: BTreeMap<IpAddr, usize>,
}

#[derive(Debug)]
struct Seat {
    peer: Peer,
    idle_since: Option<Instant>,
    leave: Arc<Notify>,
}

impl Seats {
    /// So many in all, and so many for one address.
    pub(super) fn new(most: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { most, most_of_one, taken: Mutex::default() })
    }

    /// A seat for somebody who came now; none if nobody can go for it.
    pub(super) fn take(self: &Arc<Self>, peer: Peer, now: Instant) -> Option<Seated> {
        let mut taken = self.taken();
        if taken.count_of(peer) >= self.most_of_one && !taken.evict(Some(peer)) {
            return None;
        }
        if taken.seats.len() >= self.most && !taken.evict(None) {
            return None;
        }
        let (number, leave) = taken.seat(peer, now);
        Some(Seated { seats: Arc::clone(self), number, leave })
    }

    /// Has the one go that has been idle longest: something else than seats is scarce.
    pub(super) fn make_room(&self) {
        self.taken().evict(None);
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn seat(&mut self, peer: Peer, now: Instant) -> (u64, Arc<Notify>) {
        self.last += 1;
        let leave = Arc::new(Notify::new());
        let seat = Seat { peer, idle_since: Some(now), leave: Arc::clone(&leave) };
        self.seats.insert(self.last, seat);
        if let Peer::Remote(address) = peer {
            *self.of_address.entry(address).or_default() += 1;
        }
        (self.last, leave)
    }

    fn count_of(&self, peer: Peer) -> usize {
        match peer {
            Peer::Local => 0,
            Peer::Remote(address) => self.of_address.get(&address).copied().unwrap_or(0),
        }
    }

    /// Whether somebody, of this peer if one is named, was idle and goes.
    fn evict(&mut self, peer: Option<Peer>) -> bool {
        let seats = self.seats.iter().filter(|(_, seat)| peer.is_none_or(|peer| peer == seat.peer));
        let idle = seats.filter_map(|(number, seat)| Some((seat.idle_since?, *number)));
        let Some((_, longest)) = idle.min() else { return false };
        if let Some(seat) = self.leave(longest) {
            seat.leave.notify_one();
        }
        true
    }

    /// Its seat is free, if it still had one.
    fn leave(&mut self, number: u64) -> Option<Seat> {
        let seat = self.seats.remove(&number)?;
        if let Peer::Remote(address) = seat.peer
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

/// A connection that has a seat; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Seated {
    seats: Arc<Seats>,
    number: u64,
    leave: Arc<Notify>,
}

impl Seated {
    /// Waits until it has to go.
    pub(super) async fn has_to_leave(&self) {
        self.leave.notified().await;
    }

    /// It has a request from now on, until this is dropped.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        self.set_idle(None);
        Busy(Arc::clone(self))
    }

    fn set_idle(&self, since: Option<Instant>) {
        if let Some(seat) = self.seats.taken().seats.get_mut(&self.number) {
            seat.idle_since = since;
        }
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        self.seats.taken().leave(self.number);
    }
}

/// A connection with a request that is not answered to its end.
#[derive(Debug)]
pub(super) struct Busy(Arc<Seated>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set_idle(Some(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const A: Peer = Peer::Remote(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)));
    const B: Peer = Peer::Remote(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)));

    /// Seats, and a moment that is later each time.
    struct Hall(Arc<Seats>, Instant);

    impl Hall {
        fn take(&mut self, peer: Peer) -> Option<Arc<Seated>> {
            self.1 += Duration::from_secs(1);
            self.0.take(peer, self.1).map(Arc::new)
        }

        fn sits(&self, seated: &Arc<Seated>) -> bool {
            self.0.taken().seats.contains_key(&seated.number)
        }
    }

    #[tokio::test]
    async fn who_has_been_idle_longest_goes_first_and_who_is_busy_stays() {
        let mut hall = Hall(Seats::new(3, 3), Instant::now());
        let [first, second, third] = [A, B, A].map(|peer| hall.take(peer).unwrap());
        let busy = first.busy();
        let fourth = hall.take(B).expect("the second goes for it");
        second.has_to_leave().await;
        assert!(hall.sits(&first) && !hall.sits(&second) && hall.sits(&third));
        let _more = [third.busy(), fourth.busy()];
        assert!(hall.take(A).is_none(), "nobody is idle");
        drop(busy);
        assert!(hall.take(A).is_some());
        assert!(!hall.sits(&first));
    }

    #[tokio::test]
    async fn one_address_cannot_have_all_of_them() {
        let mut hall = Hall(Seats::new(4, 2), Instant::now());
        let [one, two, other] = [A, A, B].map(|peer| hall.take(peer).unwrap());
        let third = hall.take(A).expect("its own first goes for it");
        assert!(!hall.sits(&one) && hall.sits(&two) && hall.sits(&other));
        let _busy = [two.busy(), third.busy()];
        assert!(hall.take(A).is_none(), "though there is a seat");
        assert!(hall.take(B).is_some());
        let local = [(); 3].map(|()| hall.take(Peer::Local));
        assert!(local.iter().all(Option::is_some), "those of this machine have no address");
    }

    #[test]
    fn who_left_leaves_nothing_behind() {
        let mut hall = Hall(Seats::new(4, 2), Instant::now());
        let crowd: Vec<_> = (0..10).map(|_| hall.take(A)).collect();
        drop(crowd);
        assert!(hall.0.taken().seats.is_empty() && hall.0.taken().of_address.is_empty());
    }
}
