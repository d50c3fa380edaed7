//! Stores in a real PostgreSQL.

mod journal;
mod server;
