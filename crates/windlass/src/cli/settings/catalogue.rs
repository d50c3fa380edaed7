//! Every setting, derived from the flags.

use clap::{Arg, ArgAction, Args as _, Command, CommandFactory as _};
use windlass_core::config::{self, ConfigValueKind};

use crate::cli::args::CliArgs;
use crate::cli::run_source::ControllerArgs;

/// The section of commands that use a controller.
pub(crate) const CLIENT: &str = "client";

/// Every section, and the command whose flags are its settings.
pub(super) const SECTIONS: [&str; 4] = ["serve", "worker", "dev", CLIENT];

/// The prefix of all variables.
pub(super) const PREFIX: &str = "WINDLASS_";

/// The variable that names the file, which cannot be a setting in it.
pub(super) const CONFIG: &str = "WINDLASS_CONFIG";

/// Flags that are no settings.
const FLAGS_WITHOUT_SETTING: [&str; 3] = ["config", "help", "version"];

/// Variables with another name than their flag.
const RENAMED_VARIABLES: [(&str, &str, &str); 1] = [(CLIENT, "to", "WINDLASS_URL")];

/// All settings.
#[derive(Debug)]
pub(crate) struct SettingsCatalogue {
    pub(crate) sections: Vec<SettingsSection>,
}

/// The settings of one command, or of all commands that use a controller.
#[derive(Debug)]
pub(crate) struct SettingsSection {
    pub(crate) name: &'static str,
    pub(crate) settings: Vec<CliSetting>,
    /// Parses their values.
    pub(super) command: Command,
}

/// A setting.
#[derive(Clone, Debug)]
pub(crate) struct CliSetting {
    /// Its flag without the dashes, and its key in a file.
    pub(crate) name: String,
    /// Its name in clap.
    pub(super) id: String,
    /// Its variable.
    pub(crate) variable: String,
    pub(crate) takes: ConfigValueKind,
    /// The name of its value in the help.
    pub(crate) value: String,
    /// Its default; empty if the command computes one.
    pub(crate) default: Vec<String>,
    /// Its help text.
    pub(crate) about: String,
}

impl SettingsCatalogue {
    /// The settings of this version.
    pub(crate) fn new() -> Self {
        let cli = CliArgs::command();
        Self { sections: SECTIONS.map(|name| SettingsSection::new(name, &cli)).into() }
    }

    /// The section with this name.
    pub(crate) fn section(&self, name: &str) -> Option<&SettingsSection> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The sections for the parser of settings files.
    pub(super) fn for_files(&self) -> Vec<config::ConfigSection> {
        let setting = |setting: &CliSetting| config::ConfigSetting {
            name: setting.name.clone(),
            takes: setting.takes,
        };
        let section = |section: &SettingsSection| config::ConfigSection {
            name: section.name.to_owned(),
            settings: section.settings.iter().map(setting).collect(),
        };
        self.sections.iter().map(section).collect()
    }
}

impl SettingsSection {
    fn new(name: &'static str, cli: &Command) -> Self {
        let command = match cli.find_subcommand(name) {
            Some(command) => command.clone(),
            None => ControllerArgs::augment_args(Command::new(name)),
        };
        let settings =
            command.get_arguments().filter_map(|arg| CliSetting::new(name, arg)).collect();
        Self { name, settings, command }
    }

    /// The setting with this name.
    pub(crate) fn setting(&self, name: &str) -> Option<&CliSetting> {
        self.settings.iter().find(|setting| setting.name == name)
    }
}

impl CliSetting {
    fn new(section: &str, arg: &Arg) -> Option<Self> {
        let name = arg.get_long().filter(|name| !FLAGS_WITHOUT_SETTING.contains(name))?;
        let takes = match arg.get_action() {
            ArgAction::SetTrue => ConfigValueKind::Switch,
            ArgAction::Append => ConfigValueKind::Many,
            _ => ConfigValueKind::One,
        };
        let otherwise =
            RENAMED_VARIABLES.iter().find(|(of, flag, _)| (*of, *flag) == (section, name));
        let defaults = arg.get_default_values().iter();
        Some(Self {
            name: name.to_owned(),
            id: arg.get_id().to_string(),
            variable: otherwise.map_or_else(|| variable(name), |(.., named)| (*named).to_owned()),
            takes,
            value: arg.get_value_names().and_then(<[_]>::first).map_or_else(String::new, word),
            default: defaults.map(|value| value.to_string_lossy().into_owned()).collect(),
            about: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        })
    }

    /// Whether its value is a path, which is relative to the folder of a settings file.
    pub(super) fn is_path(&self) -> bool {
        ["FILE", "FOLDER", "STORE"].contains(&&*self.value)
    }
}

fn word(name: &clap::builder::Str) -> String {
    name.to_string()
}

/// `lease-ttl` → `WINDLASS_LEASE_TTL`
fn variable(flag: &str) -> String {
    format!("{PREFIX}{}", flag.to_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_settings_and_name_their_variables() {
        let catalogue = SettingsCatalogue::new();
        let serve = catalogue.section("serve").unwrap();
        let ttl = serve.setting("lease-ttl").unwrap();
        assert_eq!(
            (&*ttl.variable, &*ttl.default),
            ("WINDLASS_LEASE_TTL", &["15s".to_owned()][..])
        );
        assert_eq!(serve.setting("no-exec").unwrap().takes, ConfigValueKind::Switch);
        assert_eq!(serve.setting("label").unwrap().takes, ConfigValueKind::Many);
        assert!(serve.setting("config").is_none() && serve.setting("help").is_none());
        let client = catalogue.section(CLIENT).unwrap();
        assert_eq!(client.setting("to").unwrap().variable, "WINDLASS_URL");
    }

    #[test]
    fn every_setting_has_a_help_text() {
        for section in SettingsCatalogue::new().sections {
            for setting in &section.settings {
                assert!(!setting.about.is_empty(), "--{} of {}", setting.name, section.name);
            }
        }
    }
}
