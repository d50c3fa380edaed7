//! A store that has lost what was committed: restored from a backup, or led by a standby that lagged behind.
//!
//! Its fences would come a second time. A store that knows begins another generation by itself. One that does not, as a
//! copy of its files, is found out by a worker that holds a lease beyond the newest one: such a lease was granted, and the
//! journal does not have it. From there on fences are of the next generation, greater than any before, and every lease has
//! to be presented anew, as after a takeover; so what is recorded is a takeover, by who leads already.
//!
//! A worker's word is all that there is to it, and generations are few. So it is believed once in a term, which is enough:
//! a store loses nothing under its leader, who would be one of another history then. And it is believed only about a
//! generation that is near.

use super::decide::Out;
use super::event::Event;
use super::state::Engine;
use crate::id::Fence;

/// How many generations a store may have lost at once: each is a backup that was put back, or a standby that took over.
const LEAP_MAX: u16 = 16;

impl Engine {
    /// Begins another generation if one of these leases is beyond all that the journal has.
    pub(super) fn notice_loss(&mut self, out: &mut Out, presented: impl Iterator<Item = Fence>) {
        let newest = Fence::new(self.generation, self.fences);
        let near = |fence: &Fence| fence.generation() <= self.generation.saturating_add(LEAP_MAX);
        let Some(beyond) = presented.filter(near).max().filter(|fence| *fence > newest) else {
            return;
        };
        if self.loss_noticed {
            return;
        }
        // Of the last generation there is none beyond.
        let Some(generation) = beyond.generation().checked_add(1) else { return };
        let (term, ttl, own) = (self.term, self.ttl, self.own);
        self.emit(out, Event::Led { term, ttl, generation, own });
    }
}
