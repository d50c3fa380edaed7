//! The controller's loop over a real journal, under virtual time.

mod bounds;
mod clock_jumps;
mod durability;
mod event_counts;
mod expiring_terms;
mod followers;
mod hand_over;
mod leadership;
mod mailbox;
mod maintenance;
#[cfg(feature = "http")]
mod network;
mod panics;
#[cfg(unix)]
mod peers;
mod sessions;
mod starts;
mod terms;
mod test_node;
mod workers;
