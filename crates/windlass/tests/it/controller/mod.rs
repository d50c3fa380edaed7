//! The controller's loop over a real journal, under virtual time.

mod bounds;
mod crew;
mod durability;
mod followers;
mod hand_over;
mod lasting;
mod leadership;
mod leaps;
mod maintenance;
#[cfg(feature = "http")]
mod network;
mod panics;
mod post;
mod sessions;
mod starts;
mod tally;
mod terms;
mod workers;
