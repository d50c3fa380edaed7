//! Folders of attempts, with real git and real folders.

mod fixtures;
mod folders;
mod git_attacks;
mod git_checkouts;
mod git_faults;
mod limits;
