//! What a step demands of a worker, and what a worker advertises.
//!
//! Labels are words (`docker`) and facts (`os=linux`, `cpu=8`). A [`Requirement`] is a list of clauses that must all
//! match, a [`RequirementClause`] is a list of atoms of which one must: `[docker, cpu>=4, "gpu | tpu", not spot]`. The
//! [`parse`](Requirement::parse) form is what people write and what every list of requirements prints.

mod amount;
mod labels;
mod parse;
mod platform;
mod requirement_type;

pub use labels::Labels;
pub use platform::{UnknownPlatform, unknown_platform};
pub use requirement_type::{AmountComparison, Requirement, RequirementAtom, RequirementClause};
