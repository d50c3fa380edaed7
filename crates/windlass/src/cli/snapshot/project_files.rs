//! The files of a project that a snapshot has.

use std::path::Path;

use windlass_core::files::PathPatterns;
use windlass_core::manifest::ManifestError;
use windlass_store::objects::tree::{PathList, TreeError, TreeSelection, find_tree};

use super::args::SnapshotMode;
use super::git_files::GitFiles;
use super::git_program::{GitOutput, GitProgram};
use super::secret_names::is_secret_name;
use super::snapshot_error::SnapshotError;
use super::temporary_repository::TemporaryRepository;
use crate::cli::project::STORE;

/// The files of a project that a snapshot has.
#[derive(Debug)]
pub(super) struct ProjectFiles {
    pub(super) paths: PathList,
    /// Untracked files that look like secrets.
    pub(super) left_out: Vec<String>,
    /// What the user should know.
    pub(super) notes: Vec<String>,
    /// The commit of the repository, with `-dirty` if the files are not those of it.
    pub(super) revision: Option<String>,
}

/// A project whose files are searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProjectFileSearch<'a> {
    pub(super) root: &'a Path,
    pub(super) mode: SnapshotMode,
    pub(super) git: &'a GitProgram,
}

/// Tracked and untracked paths, before secrets are left out.
#[derive(Debug, Default)]
struct FoundPaths {
    tracked: Vec<String>,
    untracked: Vec<String>,
    notes: Vec<String>,
    revision: Option<String>,
}

impl ProjectFileSearch<'_> {
    /// Finds the files.
    pub(super) fn find(&self) -> Result<ProjectFiles, SnapshotError> {
        let found = match self.git.run(self.root, &STATUS) {
            Err(SnapshotError::NoGit) => self.everything()?,
            Err(error) => return Err(error),
            Ok(status) if status.says_no_repository() => self.not_ignored()?,
            Ok(status) if status.succeeded => self.of_repository(&status)?,
            Ok(status) => return Err(status.failure(self.root)),
        };
        self.without_secrets(found)
    }

    /// The files of the repository that contains the project.
    fn of_repository(&self, status: &GitOutput) -> Result<FoundPaths, SnapshotError> {
        let with_untracked = self.mode != SnapshotMode::Tracked;
        let mut files = GitFiles::new(self.git, self.root, with_untracked);
        files.add_repository("")?;
        let is_ignored = || self.git.run(self.root, &["check-ignore", "-q", "."]);
        if files.tracked.is_empty() && files.untracked.is_empty() && is_ignored()?.succeeded {
            // The repository is that of a folder above, for instance of a home folder, and the project is none of its files.
            return self.not_ignored();
        }
        let GitFiles { tracked, untracked, warnings: notes, .. } = files;
        let revision = revision(status, !untracked.is_empty());
        Ok(FoundPaths { tracked, untracked, notes, revision })
    }

    /// The files of a project without a repository that its `.gitignore` files do not name.
    fn not_ignored(&self) -> Result<FoundPaths, SnapshotError> {
        self.check_untracked()?;
        let repository = TemporaryRepository::create(self.git)?;
        let mut files = GitFiles::new(self.git, self.root, true);
        files.add_all_by(repository.folder())?;
        let GitFiles { tracked, untracked, warnings: notes, .. } = files;
        Ok(FoundPaths { tracked, untracked, notes, revision: None })
    }

    /// All files, if there is no git.
    fn everything(&self) -> Result<FoundPaths, SnapshotError> {
        self.check_untracked()?;
        let all = PathPatterns::parse(&["**"]).expect("it is a pattern");
        let found = find_tree(self.root, TreeSelection::Patterns(&all))?;
        let untracked = found.paths().map(str::to_owned).collect();
        let note = "there is no program `git`, so .gitignore files do not count: the snapshot has all files";
        Ok(FoundPaths { untracked, notes: vec![note.to_owned()], ..FoundPaths::default() })
    }

    fn check_untracked(&self) -> Result<(), SnapshotError> {
        if self.mode == SnapshotMode::Tracked {
            return Err(SnapshotError::NothingTracked { folder: self.root.to_owned() });
        }
        Ok(())
    }

    fn without_secrets(&self, found: FoundPaths) -> Result<ProjectFiles, SnapshotError> {
        let FoundPaths { tracked, mut untracked, notes, revision } = found;
        untracked.retain(|path| !path.split('/').any(|name| name == STORE));
        let is_left_out = |path: &String| self.mode != SnapshotMode::All && is_secret_name(path);
        let (mut left_out, untracked): (Vec<_>, Vec<_>) =
            untracked.into_iter().partition(is_left_out);
        left_out.sort();
        let paths = PathList::new(tracked.into_iter().chain(untracked));
        let paths = paths.map_err(|error: ManifestError| TreeError::from(error))?;
        Ok(ProjectFiles { paths, left_out, notes, revision })
    }
}

/// The commit, and the tracked files that differ from it.
const STATUS: [&str; 7] =
    ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=no", "--no-renames", "."];

/// Returns the commit of a status; `None` before the first one.
fn revision(status: &GitOutput, has_untracked: bool) -> Option<String> {
    let text = String::from_utf8_lossy(&status.bytes);
    let mut records = text.split('\0').filter(|record| !record.is_empty());
    let commit = records.clone().find_map(|record| record.strip_prefix("# branch.oid "))?;
    let is_changed = has_untracked || records.any(|record| !record.starts_with('#'));
    let is_commit = commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| if is_changed { format!("{commit}-dirty") } else { commit.to_owned() })
}
