//! Which pipeline is meant, with which params, and which part of it.

use windlass_core::expand::StepSelection;

use super::args::ParamArg;
use super::project::PipelineTarget;

/// The arguments of every command that makes a run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PipelineArgs {
    /// The pipeline file, if it ends in .yml or .yaml or contains `/`; then steps
    #[arg(value_name = "FILE | STEP")]
    target: Vec<String>,
    /// Give a param a value
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    pub(crate) param: Vec<ParamArg>,
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

impl PipelineArgs {
    /// FILE and STEPs.
    pub(crate) fn target(&self) -> PipelineTarget {
        PipelineTarget::read(&self.target)
    }

    /// The steps that are wanted.
    pub(crate) fn selection(&self) -> StepSelection {
        StepSelection {
            steps: self.target().steps.into_iter().chain(self.until.iter().cloned()).collect(),
            only: self.only.clone(),
            from: self.from.clone(),
            tags: self.tag.clone(),
        }
    }
}
