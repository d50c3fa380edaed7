//! Settings and limits of workspaces.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::time::Span;
use windlass_store::objects::ObjectStore;

/// Settings of the workspaces of one worker.
#[derive(Clone, Debug)]
pub struct WorkspaceSettings {
    /// The state directory of the worker.
    pub state: PathBuf,
    /// The store of manifests and files.
    pub objects: Arc<dyn ObjectStore>,
    /// Limits of space, number and age.
    pub limits: WorkspaceLimits,
    /// The use of git.
    pub git: GitSettings,
}

/// Limits of space, number and age.
#[derive(Clone, Debug)]
pub struct WorkspaceLimits {
    /// The bytes that must be free before a folder is prepared; `None` for 5 GiB or 5 % of the disk, whichever is smaller.
    pub min_free: Option<u64>,
    /// How long the folder of a failed attempt is kept.
    pub kept_for: Span,
    /// Maximum number of kept folders; beyond it the oldest is removed.
    pub kept_max: usize,
    /// Maximum number of mirrors of git repositories; beyond it the least recently used is removed.
    pub mirrors_max: usize,
    /// How long a mirror is kept without use.
    pub mirror_kept_for: Span,
}

/// The use of git.
#[derive(Clone, Debug)]
pub struct GitSettings {
    /// The program; a name is searched for in `PATH`.
    pub program: PathBuf,
    /// Maximum time of a command that transfers objects, and of the wait for another process that fetches.
    pub fetch_within: Duration,
    /// Maximum time of a command that writes the files of a commit.
    pub checkout_within: Duration,
}

impl WorkspaceSettings {
    /// Creates settings with the default limits.
    pub fn new(state: PathBuf, objects: Arc<dyn ObjectStore>) -> Self {
        Self { state, objects, limits: WorkspaceLimits::default(), git: GitSettings::default() }
    }
}

impl Default for WorkspaceLimits {
    fn default() -> Self {
        Self {
            min_free: None,
            // A failure of the evening can be examined the next morning.
            kept_for: Span::hours(24),
            // A step that fails for each cell of a matrix must not fill the disk.
            kept_max: 16,
            mirrors_max: 64,
            // A repository that is built each month keeps its mirror.
            mirror_kept_for: Span::hours(35 * 24),
        }
    }
}

impl Default for GitSettings {
    fn default() -> Self {
        Self {
            program: PathBuf::from("git"),
            // The first fetch of a large repository takes minutes.
            fetch_within: Duration::from_mins(30),
            checkout_within: Duration::from_mins(10),
        }
    }
}
