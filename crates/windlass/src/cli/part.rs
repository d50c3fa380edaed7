//! Which pipeline is meant, with which params, and which part of it.

use windlass_core::expand::Selection;

use super::args::GivenParam;
use super::project::Target;

/// The arguments of every command that makes a run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PartArgs {
    /// The pipeline file, if it ends in .yml or .yaml or contains `/`; then steps
    #[arg(value_name = "FILE | STEP")]
    target: Vec<String>,
    /// Give a param a value
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    pub(crate) param: Vec<GivenParam>,
    /// Run this step and nothing else
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// Run this step and everything that needs it
    #[arg(long, value_name = "STEP")]
    from: Vec<String>,
    /// Run this step and everything that it needs
    #[arg(long, value_name = "STEP")]
    until: Vec<String>,
    /// Run steps with this tag and everything that they need
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
}

impl PartArgs {
    /// FILE and STEPs.
    pub(crate) fn target(&self) -> Target {
        Target::read(&self.target)
    }

    /// The steps that are wanted.
    pub(crate) fn selection(&self) -> Selection {
        Selection {
            steps: self.target().steps.into_iter().chain(self.until.iter().cloned()).collect(),
            only: self.only.clone(),
            from: self.from.clone(),
            tags: self.tag.clone(),
        }
    }
}
