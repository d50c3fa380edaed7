//! What the guard tells the leader when its worker has died and nothing of it is left.

use std::collections::BTreeSet;

use windlass_core::id::Fence;
use windlass_link::mailbox::MailboxRegistry;
use windlass_link::{DeathNoticeConfig, mailbox};

/// A worker's will, if it left one, and what it could not settle itself.
#[derive(Debug, Default)]
pub(super) struct GuardDeathNotice {
    config: Option<DeathNoticeConfig>,
    /// Steps that were started and that no leader has judged.
    unjudged: BTreeSet<Fence>,
}

impl GuardDeathNotice {
    /// Takes in a will, which replaces an earlier one.
    pub(super) fn set_config(&mut self, will: DeathNoticeConfig) {
        let anew = self.config.as_ref().is_some_and(|it| it.incarnation != will.incarnation);
        if anew {
            // Before a worker joins as a new life it ends what it had, and that life's leases are over.
            self.unjudged.clear();
        }
        self.config = Some(will);
    }

    /// A step has started.
    pub(super) fn started(&mut self, fence: Fence) {
        if self.config.is_some() {
            self.unjudged.insert(fence);
        }
    }

    /// A step that was to start did not.
    pub(super) fn never_started(&mut self, fence: Fence) {
        self.unjudged.remove(&fence);
    }

    /// The leader has judged these.
    pub(super) fn mark_judged(&mut self, fences: &[Fence]) {
        for fence in fences {
            self.unjudged.remove(fence);
        }
    }

    /// Tells the leader; this may take a minute. Nothing may be left of any step.
    pub(super) fn send(self, links: &MailboxRegistry) {
        let Some(will) = &self.config else { return };
        let started: Vec<Fence> = self.unjudged.into_iter().collect();
        if let Some(mail) = &will.mail {
            return mailbox::send_death_notice(
                links,
                mail,
                (&will.secret, will.incarnation),
                &started,
            );
        }
        #[cfg(feature = "http")]
        windlass_link::http::send_death_notice(will, &started);
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::id::{Incarnation, WorkerId};

    use super::*;

    fn will(incarnation: u64) -> DeathNoticeConfig {
        DeathNoticeConfig {
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
    fn started_lease_stays_open_until_its_verdict_or_the_end_of_its_incarnation() {
        let mut testament = GuardDeathNotice::default();
        testament.started(Fence(1));
        testament.set_config(will(1));
        (2..=5).map(Fence).for_each(|fence| testament.started(fence));
        testament.mark_judged(&[Fence(1), Fence(3)]);
        testament.set_config(will(1));
        assert_eq!(testament.unjudged, [2, 4, 5].map(Fence).into());
        testament.set_config(will(2));
        testament.started(Fence(6));
        assert_eq!(testament.unjudged, [Fence(6)].into());
    }
}
