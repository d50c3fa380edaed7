//! Settings: the values of flags, the environment and files, and their precedence.
//!
//! ```text
//! flag  >  variable (WINDLASS_…)  >  file  >  default
//! ```
//!
//! The flags of `serve`, `worker`, `dev` and of every command that uses a controller are the single list of settings:
//! their names are the keys of the file, the names of the variables are derived from them, and `config show`,
//! `config reference` and the documentation are generated from them ([`SettingsCatalogue`]). Values of variables and files
//! are inserted into the arguments before clap parses them ([`parse`]): the same code parses a value from any source, and
//! commands need not know the source. A layer replaces a whole value: a list of flags is not added to that of the file.

mod catalogue;
mod check_value;
mod files;
mod layers;
mod parse;
mod redact;
mod reference;
mod variables;

pub(super) use catalogue::{CLIENT, CliSetting, SettingsCatalogue, SettingsSection};
pub(super) use files::ConfigFileArgs;
pub(super) use layers::{SettingOrigin, SettingValue, SettingsLayers};
pub(super) use parse::{ParseRefusal, parse};
pub(super) use redact::redacted;
pub(super) use reference::reference;
