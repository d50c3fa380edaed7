//! The pipeline file and the root: the folder of steps and of the store.
//!
//! Without FILE: the `windlass.yml` of the current directory or of the nearest parent, as in git; its folder is the
//! root. With FILE: that file; the root is the nearest folder, from the current directory upwards, that contains
//! `.windlass` or `windlass.yml`, else the current directory. The file and the root are independent: `windlass run
//! examples/tour.yml` runs in the current project.

use std::path::{Path, PathBuf};

use windlass_core::plan::NAME_MAX;
use windlass_core::problem::SourceFile;

use super::error::CliError;
use crate::embedded::StoreAddress;

/// The name of a pipeline file.
pub(crate) const FILE: &str = "windlass.yml";
/// The folder of the store.
pub(crate) const STORE: &str = ".windlass";

/// Parses the address of a store.
pub(crate) fn store_address(named: &str) -> Result<StoreAddress, CliError> {
    StoreAddress::parse(named).map_err(|error| CliError::usage(error.to_string()))
}

/// Parses the address of a store that must be a folder.
pub(crate) fn store_folder(named: &str) -> Result<PathBuf, CliError> {
    match store_address(named)? {
        StoreAddress::Folder(folder) => Ok(folder),
        shared @ StoreAddress::Postgres { .. } => Err(CliError::usage(format!(
            "{shared} is led by controllers, and only they can answer"
        ))
        .hint("start one with `windlass serve --store postgres://…`; use one with `--to URL`")),
    }
}

/// The file and the root of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Project {
    /// The pipeline file.
    pub(crate) file: PathBuf,
    /// Its name in messages: as given, or relative to the current directory.
    pub(crate) shown: String,
    /// The folder of steps and of the store.
    pub(crate) root: PathBuf,
}

impl Project {
    /// Finds the given or the nearest file from the current directory `folder`.
    pub(crate) fn find(folder: &Path, given: Option<&Path>) -> Result<Self, CliError> {
        match given {
            Some(file) => Ok(Self::given(folder, file)),
            None => Self::find_upwards(folder),
        }
    }

    /// The project of a compiled pipeline, which has no file.
    pub(crate) fn compiled(folder: &Path, source: &SourceFile) -> Self {
        let shown = source.name().to_owned();
        Self { file: PathBuf::from(&shown), shown, root: root(folder) }
    }

    /// The default name of the pipeline: its file name, or the folder's name for `windlass.yml`. Two files of one
    /// folder are two pipelines: a run of one is not resumed by the other.
    pub(crate) fn name(&self) -> String {
        if self.file.file_name().is_some_and(|name| name != FILE) {
            let stem = self.file.file_stem().unwrap_or_default();
            return to_valid_name(&stem.to_string_lossy());
        }
        let folder = self.file.parent().and_then(|folder| folder.canonicalize().ok());
        let name = folder.as_deref().and_then(Path::file_name).unwrap_or_default();
        to_valid_name(&name.to_string_lossy())
    }

    fn given(folder: &Path, file: &Path) -> Self {
        let shown = file.display().to_string();
        Self { file: folder.join(file), shown, root: root(folder) }
    }

    fn find_upwards(folder: &Path) -> Result<Self, CliError> {
        let found = folder.ancestors().zip(0..).find(|(folder, _)| folder.join(FILE).exists());
        let Some((root, above)) = found else { return Err(nothing_found(folder)) };
        Ok(Self {
            file: root.join(FILE),
            shown: format!("{}{FILE}", "../".repeat(above)),
            root: root.to_path_buf(),
        })
    }
}

/// The folder of steps that are not of the project's own file, from the current directory.
pub(crate) fn root(folder: &Path) -> PathBuf {
    let marked = |folder: &&Path| folder.join(STORE).is_dir() || folder.join(FILE).is_file();
    folder.ancestors().find(marked).unwrap_or(folder).to_path_buf()
}

/// The text with `-` for characters that a name cannot have.
fn to_valid_name(text: &str) -> String {
    let sign = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = text.chars().take(NAME_MAX - 1).map(sign).collect();
    match name.trim_matches('-') {
        "" => "pipeline".to_owned(),
        name if name.starts_with(|c: char| c.is_ascii_digit()) => format!("_{name}"),
        name => name.to_owned(),
    }
}

fn nothing_found(folder: &Path) -> CliError {
    let what = format!("no {FILE} in {} or its parent folders", folder.display());
    let other = ["windlass.yaml", ".windlass.yml"].into_iter().find(|n| folder.join(n).is_file());
    CliError::usage(what).hint(match other {
        Some(other) => format!(
            "there is {other}: rename it, or name it in the command: `windlass … ./{other}`"
        ),
        None => "create one with `windlass init`, or name a file".to_owned(),
    })
}

/// FILE and STEPs as given: the first argument is a file if it looks like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PipelineTarget {
    /// The file, if one was given.
    pub(crate) file: Option<PathBuf>,
    /// The steps.
    pub(crate) steps: Vec<String>,
}

impl PipelineTarget {
    /// Separates the file from the steps: it ends in `.yml` or `.yaml`, or contains `/`.
    pub(crate) fn read(words: &[String]) -> Self {
        match words.split_first() {
            Some((first, steps)) if is_file(first) => {
                Self { file: Some(first.into()), steps: steps.to_vec() }
            }
            _ => Self { file: None, steps: words.to_vec() },
        }
    }
}

fn is_file(word: &str) -> bool {
    let ends = |end: &str| word.len() > end.len() && word.ends_with(end);
    ends(".yml") || ends(".yaml") || word.contains('/')
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn target(words: &[&str]) -> (Option<PathBuf>, Vec<String>) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let target = PipelineTarget::read(&words);
        (target.file, target.steps)
    }

    #[test]
    fn first_argument_is_a_file_if_it_looks_like_one() {
        let steps = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        assert_eq!(target(&[]), (None, vec![]));
        assert_eq!(target(&["test"]), (None, steps(&["test"])));
        assert_eq!(target(&["ci.yml", "test"]), (Some("ci.yml".into()), steps(&["test"])));
        assert_eq!(target(&["ci.yaml"]), (Some("ci.yaml".into()), vec![]));
        assert_eq!(target(&["./ci"]), (Some("./ci".into()), vec![]));
        assert_eq!(target(&["test", "ci.yml"]), (None, steps(&["test", "ci.yml"])));
        assert_eq!(target(&[".yml"]), (None, steps(&[".yml"])));
    }

    #[test]
    fn name_of_a_folder_becomes_a_valid_pipeline_name() {
        assert_eq!(to_valid_name("app"), "app");
        assert_eq!(to_valid_name("my app (2)"), "my-app--2");
        assert_eq!(to_valid_name("2nd"), "_2nd");
        assert_eq!(to_valid_name("日本"), "pipeline");
    }

    #[test]
    fn root_is_found_in_parent_folders() {
        let home = tempfile::tempdir().unwrap();
        let deep = home.path().join("app/src/deep");
        fs::create_dir_all(&deep).unwrap();
        fs::write(home.path().join("app/windlass.yml"), "").unwrap();
        let found = Project::find(&deep, None).unwrap();
        assert_eq!(found.root, home.path().join("app"));
        assert_eq!(found.shown, "../../windlass.yml");
        assert_eq!(found.name(), "app");
    }

    #[test]
    fn given_file_does_not_move_the_root() {
        let home = tempfile::tempdir().unwrap();
        let (app, other) = (home.path().join("app/src"), home.path().join("other"));
        fs::create_dir_all(&app).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("windlass.yml"), "").unwrap();
        let given = Some(Path::new("../../other/windlass.yml"));
        assert_eq!(
            Project::find(&app, given).unwrap().root,
            app,
            "no marker in any parent: the current directory"
        );
        fs::create_dir(home.path().join("app/.windlass")).unwrap();
        assert_eq!(Project::find(&app, given).unwrap().root, home.path().join("app"));
    }
}
