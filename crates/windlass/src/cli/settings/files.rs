//! The settings files that are read, and their values.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use windlass_core::config::{ConfigAssignment, read_config};
use windlass_core::problem::{Problem, ProblemCode, SOURCE_MAX, SourceFile};

use super::catalogue::{CliSetting, SettingsCatalogue};
use super::layers::{SettingOrigin, SettingValue};
use crate::cli::environment;
use crate::cli::error::CliError;
use crate::cli::render::ProblemReport;

/// The settings file.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ConfigFileArgs {
    /// Read settings from this file (default: `WINDLASS_CONFIG`, or `config.yml` of the user and of the system)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// The settings of all users of a machine.
const SYSTEM_CONFIG_FILE: &str = "/etc/windlass/config.yml";

/// A file that was read.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    source: SourceFile,
    path: PathBuf,
    given: Vec<ConfigAssignment>,
}

/// The files to read.
#[derive(Debug)]
pub(super) enum ConfigFileSearch {
    /// This file, which must exist.
    Named(PathBuf),
    /// The first of these files with a value applies. They may be missing.
    Usual(Vec<PathBuf>),
}

impl ConfigFileSearch {
    /// The user's file takes precedence over that of the system.
    pub(super) fn usual() -> Self {
        let own = environment::config_folder().map(|folder| folder.join("config.yml"));
        Self::Usual(own.into_iter().chain([SYSTEM_CONFIG_FILE.into()]).collect())
    }

    /// Reads the files.
    pub(super) fn read(self, catalogue: &SettingsCatalogue) -> Result<Vec<ConfigFile>, CliError> {
        match self {
            Self::Named(path) => Ok(vec![ConfigFile::read(path, catalogue)?]),
            Self::Usual(paths) => {
                let there = paths.into_iter().filter(|path| !is_absent(path));
                there.map(|path| ConfigFile::read(path, catalogue)).collect()
            }
        }
    }
}

impl ConfigFile {
    fn read(path: PathBuf, catalogue: &SettingsCatalogue) -> Result<Self, CliError> {
        let shown = path.display().to_string();
        let bytes = bytes(&path).map_err(|error| {
            CliError::usage(format!("the settings in {shown} cannot be read: {error}"))
        })?;
        let source = SourceFile::from_bytes(&shown, &bytes)
            .map_err(|rejected| wrong(rejected.source, vec![*rejected.problem]))?;
        let (given, mut problems) = read_config(&source, &catalogue.for_files());
        problems.extend(given.iter().filter_map(|given| invalid_value(given, catalogue)));
        if !problems.is_empty() {
            Problem::sort(&mut problems);
            return Err(wrong(source, problems));
        }
        Ok(Self { source, path, given })
    }

    /// Its value of a setting. A path is relative to the folder of the file.
    pub(super) fn value_of(&self, section: &str, setting: &CliSetting) -> Option<SettingValue> {
        let of_it =
            |given: &&ConfigAssignment| given.section == section && given.setting == setting.name;
        let given = self.given.iter().find(of_it)?;
        let value = |value: &String| {
            if setting.is_path() { self.place(value) } else { value.clone() }
        };
        let line = self.source.line_column(given.span.start).line;
        let whence = SettingOrigin::File { path: self.path.clone(), line };
        Some(SettingValue { values: given.values.iter().map(value).collect(), origin: whence })
    }

    /// Resolves a path. `~/` is the user's home directory, as in shells; a value with a scheme is no path.
    fn place(&self, value: &str) -> String {
        if value.contains("://") {
            return value.to_owned();
        }
        let (kind, path) = match value.strip_prefix("sqlite:") {
            Some(path) => ("sqlite:", path),
            None => ("", value),
        };
        let at_home = path.strip_prefix("~/").zip(environment::home());
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let place = at_home.map_or_else(|| folder.join(path), |(rest, home)| home.join(rest));
        format!("{kind}{}", place.display())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn invalid_value(given: &ConfigAssignment, catalogue: &SettingsCatalogue) -> Option<Problem> {
    let section = catalogue.section(&given.section)?;
    let setting = section.setting(&given.setting)?;
    let wrong = given.values.iter().find_map(|value| section.complaint(setting, value))?;
    let title = format!("`{}` {wrong}", setting.name);
    Some(Problem::new(ProblemCode::WrongType, given.span.clone(), title))
}

fn wrong(source: SourceFile, problems: Vec<Problem>) -> CliError {
    CliError::Config(Box::new(ProblemReport { source, problems }))
}

/// At most one byte more than the limit.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let bound = u64::try_from(SOURCE_MAX).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path)?.take(bound).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A missing file, or a missing folder of its path.
fn is_absent(path: &Path) -> bool {
    let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    std::fs::metadata(path).is_err_and(|error| absent.contains(&error.kind()))
}
