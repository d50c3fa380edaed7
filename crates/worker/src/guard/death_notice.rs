//! The report of the guard to the leader that its worker has died and nothing of the worker's steps is left.

use windlass_core::id::Fence;
use windlass_core::start_queue::UnjudgedStarts;
use windlass_link::mailbox::MailboxRegistry;
use windlass_link::{DeathNoticeConfig, mailbox};

/// The parts of the death notice that are known so far.
#[derive(Debug, Default)]
pub(super) struct GuardDeathNotice {
    /// How to reach the leader, if the worker has configured that.
    config: Option<DeathNoticeConfig>,
    starts: UnjudgedStarts,
}

impl GuardDeathNotice {
    /// Sets how to reach the leader. It replaces an earlier configuration.
    pub(super) fn set_config(&mut self, config: DeathNoticeConfig) {
        self.starts.begin_incarnation(config.incarnation);
        self.config = Some(config);
    }

    /// Adds a step that has started, or may start from now on.
    pub(super) fn started(&mut self, fence: Fence) {
        self.starts.on_started(fence);
    }

    /// Removes a step that did not start.
    pub(super) fn never_started(&mut self, fence: Fence) {
        self.starts.on_not_started(fence);
    }

    /// Removes steps whose outcomes the leader has judged.
    pub(super) fn mark_judged(&mut self, fences: &[Fence]) {
        self.starts.on_judged(fences);
    }

    /// Sends the notice, which may take a minute. Nothing of any step may be left by then.
    pub(super) fn send(self, links: &MailboxRegistry) {
        let Some(config) = &self.config else { return };
        let started = self.starts.into_fences();
        if let Some(mail) = &config.mail {
            return mailbox::send_death_notice(
                links,
                mail,
                (&config.secret, config.incarnation),
                &started,
            );
        }
        #[cfg(feature = "http")]
        windlass_link::http::send_death_notice(config, &started);
    }
}
