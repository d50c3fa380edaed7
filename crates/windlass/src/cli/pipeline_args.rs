//! The selected pipeline, its params, and the selected part of it.

use windlass_core::expand::StepSelection;

use super::args::ParamArg;
use super::project::PipelineTarget;

/// The arguments of every command that creates a run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PipelineArgs {
    /// Name the pipeline file (ending in .yml or .yaml, or containing `/`), then steps
    #[arg(value_name = "FILE | STEP")]
    target: Vec<String>,
    /// Set a param of the pipeline; can be repeated
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    pub(crate) param: Vec<ParamArg>,
    /// Run only this step, without its needs; can be repeated
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// Run this step and its dependents; can be repeated
    #[arg(long, value_name = "STEP")]
    from: Vec<String>,
    /// Run this step and its needs, as the argument STEP does; can be repeated
    #[arg(long, value_name = "STEP")]
    until: Vec<String>,
    /// Run the steps with this tag and their needs; can be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
}

impl PipelineArgs {
    /// FILE and STEPs.
    pub(crate) fn target(&self) -> PipelineTarget {
        PipelineTarget::read(&self.target)
    }

    /// The selected steps.
    pub(crate) fn selection(&self) -> StepSelection {
        StepSelection {
            steps: self.target().steps.into_iter().chain(self.until.iter().cloned()).collect(),
            only: self.only.clone(),
            from: self.from.clone(),
            tags: self.tag.clone(),
        }
    }
}
