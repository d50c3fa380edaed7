//! The death notice through mailboxes: the guard reports the end of a worker's incarnation.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};
use windlass_core::id::{Fence, Incarnation};
use windlass_net::credentials::WorkerSecret;
use windlass_net::shutdown::ShutdownSender;

use super::envelope::MailboxKey;
use super::mailboxes::Mailboxes;
use super::registry::{MailboxAddress, MailboxRegistry};
use super::worker_link::MailboxWorkerLink;

/// How long sending is retried: by then the leases have expired.
const SEND_FOR_MAX: Duration = Duration::from_mins(1);

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(200);

/// The settings for a death notice through mailboxes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailboxNoticeConfig {
    /// The site of the mailboxes.
    pub site: MailboxAddress,
    /// The key that proves messages, as text.
    pub key: MailboxKeyText,
}

/// A key as text. Its debug output hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailboxKeyText(pub String);

impl std::fmt::Debug for MailboxKeyText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MailKey(…)")
    }
}

/// Tells the leader that a worker's incarnation has ended and nothing of it is left. Returns when a leader has received the
/// notice, or when it is too late to matter.
pub fn send_death_notice(
    links: &MailboxRegistry,
    notice: &MailboxNoticeConfig,
    (secret, incarnation): (&str, Incarnation),
    started: &[Fence],
) {
    // If something is missing, no notice is sent, and the leases expire.
    let Ok(mailboxes) = links.open(&notice.site) else { return };
    let Some(key) = MailboxKey::from_hex(&notice.key.0) else { return };
    let Ok(secret) = WorkerSecret::parse(secret) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let sent = tell(mailboxes, key, &secret, (incarnation, started));
        drop(timeout(SEND_FOR_MAX, sent).await);
    });
}

async fn tell(
    mailboxes: Arc<dyn Mailboxes>,
    key: MailboxKey,
    secret: &WorkerSecret,
    (incarnation, started): (Incarnation, &[Fence]),
) {
    let Ok((link, receive_loop)) = MailboxWorkerLink::new(mailboxes, key, secret) else { return };
    let (_ends, shutdown) = ShutdownSender::new();
    tokio::spawn(receive_loop.run(shutdown));
    loop {
        match link.ended(incarnation, started.to_vec()).await {
            Ok(()) => return,
            Err(error) if error.is_final() => return,
            Err(_) => sleep(PAUSE).await,
        }
    }
}
