//! Stories of the engine and the session: who does what, and what happens when something goes wrong.

mod capabilities;
mod crew;
mod distribution;
mod leadership;
mod lock_order;
mod locks;
mod mate;
mod matrix;
mod messages;
mod resilience;
mod restarts;
mod scheduling;
mod sketch;
