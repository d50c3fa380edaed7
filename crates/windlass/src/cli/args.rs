//! The command-line arguments: parsing and nothing else.

use std::str::FromStr;

use clap::{Parser, Subcommand};

#[cfg(feature = "postgres")]
use super::commands::store;
use super::commands::{
    artifacts, audit, cancel, ci, completions, config, context, dev, doctor, expand, explain,
    graph, init, keys, locks, logs, plan, queue, rerun, run, runs, schema, serve, show, submit,
    token, validate, watch, why, worker, workers,
};
use super::help;

/// Run pipelines of dependent steps on one machine or many.
#[derive(Debug, Parser)]
#[command(
    name = "windlass",
    version,
    arg_required_else_help = true,
    help_template = help::TEMPLATE,
    after_help = help::SMALLEST
)]
pub(super) struct CliArgs {
    #[command(subcommand)]
    pub(super) command: CliCommand,
}

/// One variant per file in `commands/`. `help.rs` assigns each to a group of the help.
#[derive(Debug, Subcommand)]
pub(super) enum CliCommand {
    Run(run::RunArgs),
    Rerun(rerun::RerunArgs),
    Submit(submit::SubmitArgs),
    Cancel(cancel::CancelArgs),
    Runs(runs::RunsArgs),
    Show(show::ShowArgs),
    Artifacts(artifacts::ArtifactsArgs),
    Logs(logs::LogsArgs),
    Why(why::WhyArgs),
    Watch(watch::WatchArgs),
    Plan(plan::PlanArgs),
    Graph(graph::GraphArgs),
    Explain(explain::ExplainArgs),
    Init(init::InitArgs),
    Validate(validate::ValidateArgs),
    Expand(expand::ExpandArgs),
    Schema(schema::SchemaArgs),
    Ci(ci::CiArgs),
    Dev(dev::DevArgs),
    Serve(serve::ServeArgs),
    Worker(worker::WorkerArgs),
    Workers(workers::WorkersArgs),
    Locks(locks::LocksArgs),
    Keys(keys::KeysArgs),
    Queue(queue::QueueArgs),
    Token(token::TokenArgs),
    Audit(audit::AuditArgs),
    #[cfg(feature = "postgres")]
    Store(store::StoreArgs),
    Context(context::ContextArgs),
    Config(config::ConfigArgs),
    Doctor(doctor::DoctorArgs),
    Completions(completions::CompletionsArgs),
}

/// `-p name=value`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParamArg {
    pub(super) name: String,
    pub(super) value: String,
}

impl FromStr for ParamArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Ok(Self { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err("write a param as NAME=VALUE".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn clap_accepts_the_declared_arguments() {
        CliArgs::command().debug_assert();
    }

    #[test]
    fn param_value_may_contain_equals_signs() {
        let param: ParamArg = "channel=a=b".parse().unwrap();
        assert_eq!((&*param.name, &*param.value), ("channel", "a=b"));
        assert_eq!("empty=".parse::<ParamArg>().unwrap().value, "");
        assert!("channel".parse::<ParamArg>().is_err());
        assert!("=x".parse::<ParamArg>().is_err());
    }
}
