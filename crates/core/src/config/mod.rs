//! Reads the settings file: YAML to settings with their locations, or all problems at once.
//!
//! ```yaml
//! serve:
//!   listen: 0.0.0.0:7700
//!   lease-ttl: 20s
//! ```
//!
//! It uses the same YAML tree and the same problems as a pipeline. The known settings are an argument: they are flags of
//! commands, which the core does not know. The commands interpret the values.

mod assignment;
mod reader;
mod schema;

pub use assignment::ConfigAssignment;
pub use reader::read_config;
pub use schema::{ConfigSection, ConfigSetting, ConfigValueKind};
