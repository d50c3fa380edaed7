//! What the simulator promises: it replays, it shrinks, it finds; and what it plays can be restarted from anywhere.

mod campaign;
#[cfg(feature = "planted")]
mod planted;
mod replay;
mod restart;
