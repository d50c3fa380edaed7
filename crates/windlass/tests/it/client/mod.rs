//! The command line against a controller as it is used: real processes on free ports, a folder of their own each.

mod arrange;
mod looking;
mod once;
mod places;
mod submitting;
mod watching;
