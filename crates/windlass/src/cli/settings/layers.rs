//! What is said of each setting beside its flag, and by whom.

use std::fmt;
use std::path::{Path, PathBuf};

use super::catalogue::{CONFIG, SettingsCatalogue, SettingsSection};
use super::files::{ConfigFile, ConfigFileSearch};
use super::variables::EnvironmentSettings;
use crate::cli::context::CommandContext;
use crate::cli::environment;
use crate::cli::error::CliError;

/// What was said of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingValue {
    /// One value, unless it takes several; a switch has `true` or `false`.
    pub(crate) values: Vec<String>,
    /// Who said it.
    pub(crate) origin: SettingOrigin,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// From the environment.
    Variable(String),
    /// From `windlass context`.
    Saved,
    /// From a line of a file.
    File {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// From nobody.
    Default,
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => f.write_str(name),
            Self::Saved => f.write_str("saved context"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Default => f.write_str("default"),
        }
    }
}

/// Variables over files.
#[derive(Debug)]
pub(crate) struct SettingsLayers {
    pub(crate) catalogue: SettingsCatalogue,
    variables: EnvironmentSettings,
    files: Vec<ConfigFile>,
}

impl SettingsLayers {
    /// Reads all of them. `named` is the file that a flag names.
    pub(crate) fn load(named: Option<&Path>, context: &CommandContext) -> Result<Self, CliError> {
        let catalogue = SettingsCatalogue::new();
        let variables = EnvironmentSettings::new(environment::all());
        variables.check_names(&catalogue)?;
        let by_variable = || variables.get(CONFIG).map(PathBuf::from);
        let named = named.map(Path::to_owned).or_else(by_variable);
        let wanted = named.map_or_else(ConfigFileSearch::usual, |file| {
            ConfigFileSearch::Named(context.folder.join(file))
        });
        let files = wanted.read(&catalogue)?;
        Ok(Self { catalogue, variables, files })
    }

    /// Refuses what variables say of this section, if it makes no sense. What files say was looked at as they were read.
    pub(crate) fn check(&self, section: &str) -> Result<(), CliError> {
        self.variables.check_values(self.section(section))
    }

    /// What the variable says, or else the first file that says something.
    pub(crate) fn value_of(&self, section: &str, setting: &str) -> Option<SettingValue> {
        self.value_from_variable(section, setting)
            .or_else(|| self.value_from_file(section, setting))
    }

    /// What the variable says.
    pub(crate) fn value_from_variable(&self, section: &str, setting: &str) -> Option<SettingValue> {
        self.variables.value_of(self.section(section).setting(setting)?)
    }

    /// What the first file says that says something.
    pub(crate) fn value_from_file(&self, section: &str, setting: &str) -> Option<SettingValue> {
        let setting = self.section(section).setting(setting)?;
        self.files.iter().find_map(|file| file.value_of(section, setting))
    }

    /// The files that were read, the one that is heard first at the front.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(ConfigFile::path)
    }

    pub(crate) fn section(&self, name: &str) -> &SettingsSection {
        self.catalogue.section(name).expect("sections are named by the program itself")
    }
}
