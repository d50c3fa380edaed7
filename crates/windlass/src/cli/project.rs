//! The pipeline file and the root: where steps run and where the store is.
//!
//! Without FILE: the `windlass.yml` of the current directory or of the nearest one above it, like git; its folder is the
//! root. With FILE: that file; the root is the nearest folder, from the current directory upwards, that holds `.windlass`
//! or `windlass.yml`, else the current directory. What to run and where to run it are two questions: `windlass run
//! examples/tour.yml` works on the project that one stands in.

use std::path::{Path, PathBuf};

use windlass_core::plan::NAME_MAX;
use windlass_core::problem::SourceFile;

use super::error::CliError;
use crate::embedded::StoreAddress;

/// What a pipeline file is called.
pub(crate) const FILE: &str = "windlass.yml";
/// The folder of the store.
pub(crate) const STORE: &str = ".windlass";
/// In the store: what steps write for windlass.
pub(crate) const SCRATCH: &str = "scratch";

/// Where a store was said to be.
pub(crate) fn store_address(named: &str) -> Result<StoreAddress, CliError> {
    StoreAddress::parse(named).map_err(|error| CliError::usage(error.to_string()))
}

/// The folder that a store was named by, where it has to be one.
pub(crate) fn store_folder(named: &str) -> Result<PathBuf, CliError> {
    match store_address(named)? {
        StoreAddress::Folder(folder) => Ok(folder),
        shared @ StoreAddress::Postgres { .. } => {
            Err(CliError::usage(format!("{shared} is led by controllers, and they are asked"))
                .hint("`windlass serve --store postgres://…` is one; `--to URL` asks it"))
        }
    }
}

/// The file and the root of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Project {
    /// The pipeline file.
    pub(crate) file: PathBuf,
    /// Its name in messages: as it was given, or seen from the current directory.
    pub(crate) shown: String,
    /// Where steps run, and where the store is.
    pub(crate) root: PathBuf,
}

impl Project {
    /// Finds the file, whether it was given or not, from the current directory `folder`.
    pub(crate) fn find(folder: &Path, given: Option<&Path>) -> Result<Self, CliError> {
        match given {
            Some(file) => Ok(Self::given(folder, file)),
            None => Self::find_upwards(folder),
        }
    }

    /// That of a pipeline which is compiled in: it has no file.
    pub(crate) fn compiled(folder: &Path, source: &SourceFile) -> Self {
        let shown = source.name().to_owned();
        Self { file: PathBuf::from(&shown), shown, root: root(folder) }
    }

    /// What the pipeline is called if it does not say so: like its file, or like its folder if that is what every file is
    /// called. Two files of one folder are two pipelines: a run of one is not resumed by the other.
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

/// Where steps run that are not of the project's own file, as seen from the current directory.
pub(crate) fn root(folder: &Path) -> PathBuf {
    let marked = |folder: &&Path| folder.join(STORE).is_dir() || folder.join(FILE).is_file();
    folder.ancestors().find(marked).unwrap_or(folder).to_path_buf()
}

/// The text with `-` for what a name cannot have.
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
    let what = format!("there is no {FILE} in {} or above it", folder.display());
    let other = ["windlass.yaml", ".windlass.yml"].into_iter().find(|n| folder.join(n).is_file());
    CliError::usage(what).hint(match other {
        Some(other) => format!("there is {other}: rename it, or name it: `windlass … ./{other}`"),
        None => "`windlass init` writes one; or name a file".to_owned(),
    })
}

/// FILE and STEPs as they were given: the first argument is a file if it looks like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PipelineTarget {
    /// The file, if one was given.
    pub(crate) file: Option<PathBuf>,
    /// The steps.
    pub(crate) steps: Vec<String>,
}

impl PipelineTarget {
    /// Tells the file from the steps: it ends in `.yml` or `.yaml`, or contains `/`.
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
    fn the_first_word_is_a_file_if_it_looks_like_one() {
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
    fn a_folder_lends_its_name_as_far_as_it_is_one() {
        assert_eq!(to_valid_name("app"), "app");
        assert_eq!(to_valid_name("my app (2)"), "my-app--2");
        assert_eq!(to_valid_name("2nd"), "_2nd");
        assert_eq!(to_valid_name("日本"), "pipeline");
    }

    #[test]
    fn the_root_is_found_upwards() {
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
    fn a_given_file_does_not_move_the_root() {
        let home = tempfile::tempdir().unwrap();
        let (app, other) = (home.path().join("app/src"), home.path().join("other"));
        fs::create_dir_all(&app).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("windlass.yml"), "").unwrap();
        let given = Some(Path::new("../../other/windlass.yml"));
        assert_eq!(
            Project::find(&app, given).unwrap().root,
            app,
            "nothing above: where one stands"
        );
        fs::create_dir(home.path().join("app/.windlass")).unwrap();
        assert_eq!(Project::find(&app, given).unwrap().root, home.path().join("app"));
    }
}
