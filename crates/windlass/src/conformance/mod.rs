//! Checks of mailbox links, which a test of a link runs in one line, and those of the stores.
//!
//! ```
//! use windlass::conformance;
//! use windlass::link::mailbox::MemoryMailboxes;
//!
//! conformance::check_link("memory", || conformance::shared_mailboxes(MemoryMailboxes::new()));
//! ```
//!
//! | file | what it holds |
//! |---|---|
//! | `mailbox_binding` | one leader at a time at an address |
//! | `messages` | messages arrive, within bounds |
//! | `faulty_link` | a leader and workers over a link that loses, repeats and delays messages |
//! | `faulty_mailboxes` | the wrapper that does so |
//! | `link_checks` | the list of checks, and running them |
//! | `test_worker` | a worker as its leader sees it |

mod faulty_link;
mod faulty_mailboxes;
mod full_mailbox;
mod link_checks;
mod mailbox_binding;
mod messages;
mod test_worker;

pub use faulty_mailboxes::{FaultyMailboxes, MailboxFaults};
pub use link_checks::{
    LINK_CHECKS, check_link, examine_link, examine_link_checks, shared_mailboxes,
};
pub use test_worker::test_worker;
pub use windlass_store::conformance::*;
