//! Leaders and workers that exchange messages through mailboxes, in virtual time.

mod faults;
mod mailbox_node;
mod outcomes;
mod signatures;
