//! A refused call as what a conformance check found.

use windlass_store::conformance::CheckDifference;

use super::mailboxes::MailboxError;

impl From<MailboxError> for CheckDifference {
    fn from(error: MailboxError) -> Self {
        Self::new(format!("a call that has to succeed was refused: {error}"))
    }
}
