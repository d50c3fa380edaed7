//! Whether a value can be what it is to be: asked of the flag that takes it.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use windlass_core::config::ConfigValueKind;

use super::catalogue::{CliSetting, SettingsSection};
use super::redact::redacted;

impl SettingsSection {
    /// What is wrong with a value of one of its settings, in words that follow the name of where it was found.
    pub(super) fn complaint(&self, setting: &CliSetting, value: &str) -> Option<String> {
        if setting.takes == ConfigValueKind::Switch {
            let fits = ["true", "false"].contains(&value);
            return (!fits).then(|| format!("cannot be `{value}`: it is `true` or `false`"));
        }
        let flag = format!("--{}={value}", setting.name);
        let error = self.command.clone().try_get_matches_from([self.name, &flag]).err()?;
        // What is missing beside it is another matter.
        let of_value = [ErrorKind::ValueValidation, ErrorKind::InvalidValue];
        of_value.contains(&error.kind()).then(|| {
            let why = why(&error);
            format!("cannot be `{}`: {why}", redacted(&setting.name, value))
        })
    }
}

fn why(error: &clap::Error) -> String {
    match (error.source(), error.get(ContextKind::ValidValue)) {
        (Some(source), _) => source.to_string(),
        (None, Some(ContextValue::Strings(words))) if !words.is_empty() => {
            format!("it is one of {}", words.join(", "))
        }
        (None, _) => "it takes something else".to_owned(),
    }
}
