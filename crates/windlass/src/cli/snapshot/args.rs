//! `--snapshot`

/// The files that a snapshot has, as an argument.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SnapshotArgs {
    /// Send files of this project with the run: those that git does not ignore (`files`), tracked ones only (`tracked`), or
    /// also such that look like secrets (`all`) (default: `files` in a git work tree)
    #[arg(
        long,
        hide_possible_values = true,
        value_name = "FILES",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "files"
    )]
    pub(crate) snapshot: Option<SnapshotMode>,
}

/// The files that a snapshot has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SnapshotMode {
    /// Tracked files, and untracked ones that are not ignored and do not look like secrets
    Files,
    /// Tracked files only
    Tracked,
    /// Also untracked files that look like secrets, such as .env
    All,
}
