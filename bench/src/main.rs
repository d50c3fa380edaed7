//! Measures windlass beside the floors of the minute.
fn main() {}
