//! Settings: what flags, the environment and files say, and who of them is heard.
//!
//! ```text
//! flag  >  variable (WINDLASS_…)  >  file  >  default
//! ```
//!
//! The flags of `serve`, `worker`, `dev` and of every command that asks a controller are the one list of settings: their
//! names are the keys of the file, the names of the variables follow from them, and `config show`, `config reference` and
//! the documentation are made of them ([`Catalogue`]). What variables and files say is put among the arguments, before
//! clap reads them ([`parse`]): a value is read by the same code wherever it comes from, and a command knows nothing of
//! it. Each layer is heard as a whole: a list that is given as flags is not added to that of the file.

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
