//! Files and folders that only their owner may read, durable before they are used.

pub mod durable_folder;
pub mod private_files;
