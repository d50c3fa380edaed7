//! Backups of stores in use, and stores that are restored from them: real processes, killed at any moment.

mod damage;
mod databases;
mod restored_store;
mod running;
