//! Leaders and workers that leave letters for each other, in virtual time.

mod arrange;
mod faults;
mod outcomes;
mod signatures;
