//! What a type looks like to serde, found out without an instance of it.
//!
//! A type is read from a [`ShapeTracer`](tracer), which has no data: it notes what it is asked for and makes something up. A
//! variant of each enum is looked at in each pass, until all have been. Where a type leads
//! back to itself its options and lists are empty. Where a type refuses what was made up (a date, an
//! address) its shape ends there: the same on every machine, which is all that a signature needs.

mod shape_notes;
mod shape_type;
mod traced_parts;
mod tracer;

pub use shape_type::TypeShape;
