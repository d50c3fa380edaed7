//! Checks whether a value is valid, using the parser of its flag.

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use windlass_core::config::ConfigValueKind;

use super::catalogue::{CliSetting, SettingsSection};
use super::redact::redacted;

impl SettingsSection {
    /// The problem with a value of one of its settings, as a phrase that follows the location of the value.
    pub(super) fn complaint(&self, setting: &CliSetting, value: &str) -> Option<String> {
        if setting.takes == ConfigValueKind::Switch {
            let fits = ["true", "false"].contains(&value);
            return (!fits).then(|| format!("cannot be `{value}`: use `true` or `false`"));
        }
        let flag = format!("--{}={value}", setting.name);
        let error = self.command.clone().try_get_matches_from([self.name, &flag]).err()?;
        // Other missing arguments do not matter here.
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
            format!("use one of {}", words.join(", "))
        }
        (None, _) => "the value is invalid".to_owned(),
    }
}
