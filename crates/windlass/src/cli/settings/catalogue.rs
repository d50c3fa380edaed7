//! Every setting, taken from the flags themselves.

use clap::{Arg, ArgAction, Args as _, Command, CommandFactory as _};
use windlass_core::config::{self, ConfigValueKind};

use crate::cli::args::CliArgs;
use crate::cli::run_source::ControllerArgs;

/// The section of what commands need that ask a controller.
pub(crate) const CLIENT: &str = "client";

/// Every section, and the command whose flags are its settings.
pub(super) const SECTIONS: [&str; 4] = ["serve", "worker", "dev", CLIENT];

/// What every variable begins with.
pub(super) const PREFIX: &str = "WINDLASS_";

/// The variable that names the file: it cannot be a setting in it.
pub(super) const CONFIG: &str = "WINDLASS_CONFIG";

/// Flags that are no settings.
const FLAGS_WITHOUT_SETTING: [&str; 3] = ["config", "help", "version"];

/// Variables that are not called like their flag.
const RENAMED_VARIABLES: [(&str, &str, &str); 1] = [(CLIENT, "to", "WINDLASS_URL")];

/// All settings.
#[derive(Debug)]
pub(crate) struct SettingsCatalogue {
    pub(crate) sections: Vec<SettingsSection>,
}

/// The settings of one command, or of all that ask a controller.
#[derive(Debug)]
pub(crate) struct SettingsSection {
    pub(crate) name: &'static str,
    pub(crate) settings: Vec<CliSetting>,
    /// Reads their values.
    pub(super) command: Command,
}

/// Something that can be set.
#[derive(Clone, Debug)]
pub(crate) struct CliSetting {
    /// Its flag without the dashes, and its key in a file.
    pub(crate) name: String,
    /// The name that clap has for it.
    pub(super) id: String,
    /// Its variable.
    pub(crate) variable: String,
    pub(crate) takes: ConfigValueKind,
    /// What a value is called in the help.
    pub(crate) value: String,
    /// What it is if nobody says anything; nothing if the command finds out.
    pub(crate) default: Vec<String>,
    /// What it is for.
    pub(crate) about: String,
}

impl SettingsCatalogue {
    /// The settings of this version.
    pub(crate) fn new() -> Self {
        let cli = CliArgs::command();
        Self { sections: SECTIONS.map(|name| SettingsSection::new(name, &cli)).into() }
    }

    /// The section of this name.
    pub(crate) fn section(&self, name: &str) -> Option<&SettingsSection> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// As the reader of files wants to know it.
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

    /// The setting of this name.
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

    /// Whether its value is a place among files, which a file of settings says as seen from where it is.
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
    fn every_flag_that_is_a_setting_is_told_of() {
        for section in SettingsCatalogue::new().sections {
            for setting in &section.settings {
                assert!(!setting.about.is_empty(), "--{} of {}", setting.name, section.name);
            }
        }
    }
}
