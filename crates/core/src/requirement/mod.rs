//! Requirements of steps, and labels of workers.
//!
//! Labels are words (`docker`) and facts (`os=linux`, `cpu=8`). A [`Requirement`] is a list of clauses that must all
//! match. A [`RequirementClause`] is a list of atoms of which one must match: `[docker, cpu>=4, "gpu | tpu", not spot]`.
//! Files and output use the form of [`parse`](Requirement::parse).

mod amount;
mod labels;
mod parse;
mod platform;
mod requirement_type;
mod worker_scope;

pub use labels::Labels;
pub use platform::{UnknownPlatform, unknown_platform};
pub use requirement_type::{AmountComparison, Requirement, RequirementAtom, RequirementClause};
pub use worker_scope::WorkerScope;
