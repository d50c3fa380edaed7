//! Snapshots of real projects, with the real git.

mod changes;
mod fixtures;
mod git_trees;
mod hostile;
mod limits;
mod nested;
mod without_git;
