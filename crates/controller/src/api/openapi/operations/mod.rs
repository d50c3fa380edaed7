//! The table of operations, one file for each kind.

mod access;
mod all;
mod cluster;
mod objects;
mod plain_worker;
mod runs;
mod sessions;

pub(super) use all::operations;
