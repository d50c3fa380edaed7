//! What the user asked for, read from the arguments and nothing else.

use std::str::FromStr;

use clap::{Parser, Subcommand};

#[cfg(feature = "postgres")]
use super::commands::store;
use super::commands::{
    audit, cancel, ci, completions, config, context, dev, doctor, expand, explain, graph, init,
    keys, locks, logs, plan, queue, rerun, run, runs, schema, serve, show, submit, token, validate,
    watch, why, worker, workers,
};
use super::help;

/// Runs graphs of work on one machine or many.
#[derive(Debug, Parser)]
#[command(
    name = "windlass",
    version,
    arg_required_else_help = true,
    help_template = help::TEMPLATE,
    after_help = help::SMALLEST
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

/// One variant per file in `commands/`; its group in the help is in `help.rs`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Run(run::Args),
    Rerun(rerun::Args),
    Submit(submit::Args),
    Cancel(cancel::Args),
    Runs(runs::Args),
    Show(show::Args),
    Logs(logs::Args),
    Why(why::Args),
    Watch(watch::Args),
    Plan(plan::Args),
    Graph(graph::Args),
    Explain(explain::Args),
    Init(init::Args),
    Validate(validate::Args),
    Expand(expand::Args),
    Schema(schema::Args),
    Ci(ci::Args),
    Dev(dev::Args),
    Serve(serve::Args),
    Worker(worker::Args),
    Workers(workers::Args),
    Locks(locks::Args),
    Keys(keys::Args),
    Queue(queue::Args),
    Token(token::Args),
    Audit(audit::Args),
    #[cfg(feature = "postgres")]
    Store(store::Args),
    Context(context::Args),
    Config(config::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
}

/// `-p name=value`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GivenParam {
    pub(super) name: String,
    pub(super) value: String,
}

impl FromStr for GivenParam {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Ok(Self { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err("a param is given as NAME=VALUE".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_are_declared_soundly() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_param_may_hold_anything_behind_its_first_equals_sign() {
        let param: GivenParam = "channel=a=b".parse().unwrap();
        assert_eq!((&*param.name, &*param.value), ("channel", "a=b"));
        assert_eq!("empty=".parse::<GivenParam>().unwrap().value, "");
        assert!("channel".parse::<GivenParam>().is_err());
        assert!("=x".parse::<GivenParam>().is_err());
    }
}
