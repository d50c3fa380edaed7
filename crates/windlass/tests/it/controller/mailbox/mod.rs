//! Leaders and workers that leave letters for each other, in virtual time.

mod faults;
mod mailbox_node;
mod outcomes;
mod signatures;
