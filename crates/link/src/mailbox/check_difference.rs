//! A refused call as the finding of a conformance check.

use windlass_store::conformance::CheckDifference;

use super::mailboxes::MailboxError;

impl From<MailboxError> for CheckDifference {
    fn from(error: MailboxError) -> Self {
        Self::new(format!("a call that has to succeed was refused: {error}"))
    }
}
