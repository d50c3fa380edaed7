//! The tables after scenarios, after random histories, and after a million steps.

mod faults;
mod random_histories;
mod scale;
mod scenarios;
mod test_leader;
