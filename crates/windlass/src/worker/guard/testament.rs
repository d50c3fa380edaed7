//! What the guard tells the leader when its worker has died and nothing of it is left.

use std::collections::BTreeSet;

use windlass_core::id::Fence;

use crate::link::Will;
use crate::link::post::{self, Links};

/// A worker's will, if it left one, and what it could not settle itself.
#[derive(Debug, Default)]
pub(super) struct Testament {
    will: Option<Will>,
    /// Steps that were started and that no leader has judged.
    open: BTreeSet<Fence>,
}

impl Testament {
    /// Takes in a will, which replaces an earlier one.
    pub(super) fn leave(&mut self, will: Will) {
        let anew = self.will.as_ref().is_some_and(|it| it.incarnation != will.incarnation);
        if anew {
            // Before a worker joins as a new life it ends what it had, and that life's leases are over.
            self.open.clear();
        }
        self.will = Some(will);
    }

    /// A step has started.
    pub(super) fn started(&mut self, fence: Fence) {
        if self.will.is_some() {
            self.open.insert(fence);
        }
    }

    /// A step that was to start did not.
    pub(super) fn never_started(&mut self, fence: Fence) {
        self.open.remove(&fence);
    }

    /// The leader has judged these.
    pub(super) fn settled(&mut self, fences: &[Fence]) {
        for fence in fences {
            self.open.remove(fence);
        }
    }

    /// Tells the leader; this may take a minute. Nothing may be left of any step.
    pub(super) fn execute(self, links: &Links) {
        let Some(will) = &self.will else { return };
        let started: Vec<Fence> = self.open.into_iter().collect();
        if let Some(mail) = &will.mail {
            return post::report_ended(links, mail, (&will.secret, will.incarnation), &started);
        }
        #[cfg(feature = "http")]
        crate::link::http::report_ended(will, &started);
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::id::{Incarnation, WorkerId};

    use super::*;

    fn will(incarnation: u64) -> Will {
        Will {
            ways: Vec::new(),
            ca: None,
            token: None,
            secret: String::new(),
            worker: WorkerId(7),
            incarnation: Incarnation(incarnation),
            mail: None,
        }
    }

    #[test]
    fn what_was_started_is_open_until_it_is_judged_or_its_life_is_over() {
        let mut testament = Testament::default();
        testament.started(Fence(1));
        testament.leave(will(1));
        (2..=5).map(Fence).for_each(|fence| testament.started(fence));
        testament.settled(&[Fence(1), Fence(3)]);
        testament.leave(will(1));
        assert_eq!(testament.open, [2, 4, 5].map(Fence).into());
        testament.leave(will(2));
        testament.started(Fence(6));
        assert_eq!(testament.open, [Fence(6)].into());
    }
}
