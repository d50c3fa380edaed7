//! `windlass worker drain`

use serde_json::{Value, json};
use windlass_core::spec::nearest_name;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::run_source::{ControllerArgs, runtime, segment};

/// Let a worker finish its steps and assign it no new ones
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass worker drain build-7 --to http://build.example:7700")]
pub(crate) struct WorkerDrainArgs {
    /// Drain this worker
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    controller: ControllerArgs,
}

/// Sends the request to the controller.
pub(crate) fn run(args: &WorkerDrainArgs, context: &CommandContext) -> Result<u8, CliError> {
    let controller = args.controller.controller(context)?;
    let name = &args.name;
    runtime()?.block_on(async {
        let workers: Vec<Value> = controller.get("/workers").await?;
        let names: Vec<&str> =
            workers.iter().filter_map(|worker| worker["name"].as_str()).collect();
        if !names.contains(&name.as_str()) {
            return Err(no_such_worker(name, &names));
        }
        controller.post(&format!("/workers/{}/drain", segment(name)), &json!({})).await
    })?;
    output::print_message(&format!("worker {name} finishes its steps and gets no new ones"));
    Ok(0)
}

fn no_such_worker(name: &str, names: &[&str]) -> CliError {
    let error = CliError::usage(format!("there is no worker `{name}`"));
    match nearest_name(name, names.iter().copied()) {
        Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
        None => error.hint("`windlass workers` lists all workers"),
    }
}
