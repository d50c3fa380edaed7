//! Files and folders that only their owner can read, and that are durable before they are used.

pub mod durable_folder;
pub mod private_files;
