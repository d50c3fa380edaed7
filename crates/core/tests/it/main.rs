//! Stories of the engine and the session: who does what, and what happens when something goes wrong.

mod access;
mod capabilities;
mod cascade;
mod conditions;
mod config;
mod corners;
mod crew;
mod distribution;
mod endings;
mod hostile;
mod leader;
mod leadership;
mod lock_order;
mod locks;
mod mate;
mod matrix;
mod messages;
mod plan_checks;
mod preferences;
mod reports;
mod resilience;
mod restarts;
mod retries;
mod scheduling;
mod sketch;
mod summaries;
