//! The values of settings without their flags, and their sources.

use std::fmt;
use std::path::{Path, PathBuf};

use super::catalogue::{CONFIG, SettingsCatalogue, SettingsSection};
use super::files::{ConfigFile, ConfigFileSearch};
use super::variables::EnvironmentSettings;
use crate::cli::context::CommandContext;
use crate::cli::environment;
use crate::cli::error::CliError;

/// A value and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingValue {
    /// One value, unless it takes several; a switch has `true` or `false`.
    pub(crate) values: Vec<String>,
    /// Its source.
    pub(crate) origin: SettingOrigin,
}

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// The environment.
    Variable(String),
    /// The context saved by `windlass context`.
    Saved,
    /// A line of a file.
    File {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// The default.
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
    /// Reads all sources. `named` is the file of a flag.
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

    /// Refuses invalid variables of this section. Files were checked when they were read.
    pub(crate) fn check(&self, section: &str) -> Result<(), CliError> {
        self.variables.check_values(self.section(section))
    }

    /// The value of the variable, or else of the first file that has one.
    pub(crate) fn value_of(&self, section: &str, setting: &str) -> Option<SettingValue> {
        self.value_from_variable(section, setting)
            .or_else(|| self.value_from_file(section, setting))
    }

    /// The value of the variable.
    pub(crate) fn value_from_variable(&self, section: &str, setting: &str) -> Option<SettingValue> {
        self.variables.value_of(self.section(section).setting(setting)?)
    }

    /// The value of the first file that has one.
    pub(crate) fn value_from_file(&self, section: &str, setting: &str) -> Option<SettingValue> {
        let setting = self.section(section).setting(setting)?;
        self.files.iter().find_map(|file| file.value_of(section, setting))
    }

    /// The files that were read, in order of precedence.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(ConfigFile::path)
    }

    pub(crate) fn section(&self, name: &str) -> &SettingsSection {
        self.catalogue.section(name).expect("section names come from the program")
    }
}
