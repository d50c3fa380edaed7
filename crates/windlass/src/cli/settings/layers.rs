//! What is said of each setting beside its flag, and by whom.

use std::fmt;
use std::path::{Path, PathBuf};

use super::catalogue::{CONFIG, Catalogue, Section};
use super::files::{ConfigFile, Wanted};
use super::variables::Variables;
use crate::cli::context::Context;
use crate::cli::environment;
use crate::cli::error::CliError;

/// What was said of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// One value, unless it takes several; a switch has `true` or `false`.
    pub(crate) values: Vec<String>,
    /// Who said it.
    pub(crate) whence: Whence,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whence {
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

impl fmt::Display for Whence {
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
pub(crate) struct Layers {
    pub(crate) catalogue: Catalogue,
    variables: Variables,
    files: Vec<ConfigFile>,
}

impl Layers {
    /// Reads all of them. `named` is the file that a flag names.
    pub(crate) fn load(named: Option<&Path>, context: &Context) -> Result<Self, CliError> {
        let catalogue = Catalogue::new();
        let variables = Variables::new(environment::all());
        variables.check_names(&catalogue)?;
        let by_variable = || variables.get(CONFIG).map(PathBuf::from);
        let named = named.map(Path::to_owned).or_else(by_variable);
        let wanted =
            named.map_or_else(Wanted::usual, |file| Wanted::Named(context.folder.join(file)));
        let files = wanted.read(&catalogue)?;
        Ok(Self { catalogue, variables, files })
    }

    /// Refuses what variables say of this section, if it makes no sense. What files say was looked at as they were read.
    pub(crate) fn check(&self, section: &str) -> Result<(), CliError> {
        self.variables.check_values(self.section(section))
    }

    /// What the variable says, or else the first file that says something.
    pub(crate) fn said(&self, section: &str, setting: &str) -> Option<Said> {
        self.by_variable(section, setting).or_else(|| self.by_file(section, setting))
    }

    /// What the variable says.
    pub(crate) fn by_variable(&self, section: &str, setting: &str) -> Option<Said> {
        self.variables.said(self.section(section).setting(setting)?)
    }

    /// What the first file says that says something.
    pub(crate) fn by_file(&self, section: &str, setting: &str) -> Option<Said> {
        let setting = self.section(section).setting(setting)?;
        self.files.iter().find_map(|file| file.said(section, setting))
    }

    /// The files that were read, the one that is heard first at the front.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(ConfigFile::path)
    }

    pub(crate) fn section(&self, name: &str) -> &Section {
        self.catalogue.section(name).expect("sections are named by the program itself")
    }
}
