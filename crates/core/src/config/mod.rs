//! The file of settings: YAML in, what is set and where it stands out, or every problem at once.
//!
//! ```yaml
//! serve:
//!   listen: 0.0.0.0:7700
//!   lease-ttl: 20s
//! ```
//!
//! It is read like a pipeline, with the same tree and the same problems. Which settings there are is an argument: they are
//! the flags of commands, and the core knows no commands. What a value means is for the command to say.

mod assignment;
mod reader;
mod schema;

pub use assignment::ConfigAssignment;
pub use reader::read_config;
pub use schema::{ConfigSection, ConfigSetting, ConfigValueKind};
