//! The settings for a death notice, which a worker gives to its guard.

use std::fmt;

use serde::{Deserialize, Serialize};
use windlass_core::id::{Incarnation, WorkerId};

use super::mailbox::MailboxNoticeConfig;

/// Everything that a guard needs to report the end of its worker.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeathNoticeConfig {
    /// The addresses of controllers, or of the database that names the leader.
    pub ways: Vec<String>,
    /// The CA bundle that verifies controllers.
    pub ca: Option<String>,
    /// The cluster's token.
    pub token: Option<String>,
    /// The worker's secret.
    pub secret: String,
    /// The worker.
    pub worker: WorkerId,
    /// The incarnation that ends.
    pub incarnation: Incarnation,
    /// The mailboxes that leaders read, where that is the way.
    pub mail: Option<MailboxNoticeConfig>,
}

impl fmt::Debug for DeathNoticeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worker, incarnation, ways, mail, .. } = self;
        // The part before a host is a password.
        let shown =
            |way: &String| way.rsplit_once('@').map_or(way.clone(), |(_, it)| it.to_owned());
        let ways: Vec<String> = ways.iter().map(shown).collect();
        write!(f, "DeathNoticeConfig(of {worker} {incarnation} to {ways:?} {mail:?})")
    }
}
