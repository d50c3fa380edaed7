//! The shape of a type as serde sees it, without an instance of the type.
//!
//! A type is deserialized from a [`ShapeTracer`](tracer), which has no data: it records each request and invents a value.
//! Each pass visits one variant of each enum, until all were visited. Where a type contains itself, its options and lists
//! are empty. Where a type refuses an invented value (a date, an address), its shape ends there. It is the same on every
//! machine, which is all that a signature needs.

mod shape_notes;
mod shape_type;
mod traced_parts;
mod tracer;

pub use shape_type::TypeShape;
