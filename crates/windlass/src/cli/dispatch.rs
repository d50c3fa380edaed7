//! From the arguments to the exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;

use super::args::Command;
use super::compiled::Compiled;
use super::context::Context;
use super::error::CliError;
use super::output::Look;
use super::settings::{Refused, parse};
use super::{commands, exit, output};
use crate::link::post::Links;
use crate::worker::platform::hide_memory;

/// Answers the arguments that follow the program's name and returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    run_with(arguments, Links::built_in(), Compiled::default())
}

/// The same for a program with links and steps of its own.
pub(super) fn run_with(
    arguments: impl IntoIterator<Item = OsString>,
    links: Links,
    compiled: Compiled,
) -> ExitCode {
    let arguments = std::iter::once("windlass".into()).chain(arguments).collect();
    let code = match parse(arguments) {
        Ok(cli) => answer(cli.command, links, compiled),
        Err(Refused::Arguments(error)) => not_a_request(&error),
        Err(Refused::Settings(error)) => {
            let look = Context::of_process().map_or(Look::PLAIN, |context| context.err);
            tell(&error, &look)
        }
    };
    ExitCode::from(code)
}

fn answer(command: Command, links: Links, compiled: Compiled) -> u8 {
    let context = match Context::of_process() {
        Ok(context) => Context { links, compiled, ..context },
        Err(error) => return tell(&error, &Look::PLAIN),
    };
    if holds_secrets(&command) {
        hide_memory();
    }
    let answered = match command {
        Command::Run(args) => commands::run::run(&args, &context),
        Command::Rerun(args) => commands::rerun::run(&args, &context),
        Command::Submit(args) => commands::submit::run(&args, &context),
        Command::Cancel(args) => commands::cancel::run(&args, &context),
        Command::Runs(args) => commands::runs::run(&args, &context),
        Command::Show(args) => commands::show::run(&args, &context),
        Command::Logs(args) => commands::logs::run(&args, &context),
        Command::Why(args) => commands::why::run(&args, &context),
        Command::Watch(args) => commands::watch::run(&args, &context),
        Command::Plan(args) => commands::plan::run(&args, &context),
        Command::Graph(args) => commands::graph::run(&args, &context),
        Command::Explain(args) => commands::explain::run(&args, &context),
        Command::Init(args) => commands::init::run(&args, &context),
        Command::Validate(args) => commands::validate::run(&args, &context),
        Command::Expand(args) => commands::expand::run(&args, &context),
        Command::Schema(args) => commands::schema::run(&args, &context),
        Command::Ci(args) => Ok(commands::ci::run(&args)),
        Command::Dev(args) => commands::dev::run(&args, &context),
        Command::Serve(args) => commands::serve::run(&args, &context),
        Command::Worker(args) => commands::worker::run(&args, &context),
        Command::Workers(args) => commands::workers::run(&args, &context),
        Command::Keys(args) => commands::keys::run(&args, &context),
        Command::Locks(args) => commands::locks::run(&args, &context),
        Command::Queue(args) => commands::queue::run(&args, &context),
        Command::Token(args) => commands::token::run(&args, &context),
        #[cfg(feature = "postgres")]
        Command::Store(args) => commands::store::run(&args, &context),
        Command::Audit(args) => commands::audit::run(&args, &context),
        Command::Config(args) => commands::config::run(&args, &context),
        Command::Context(args) => commands::context::run(&args, &context),
        Command::Doctor(args) => commands::doctor::run(&args, &context),
        Command::Completions(args) => commands::completions::run(&args, &context),
    };
    answered.unwrap_or_else(|error| tell(&error, &context.err))
}

/// Whether the process of a command holds secrets of steps, or the credentials of a cluster, for as long as it lives.
const fn holds_secrets(command: &Command) -> bool {
    matches!(
        command,
        Command::Run(_)
            | Command::Rerun(_)
            | Command::Dev(_)
            | Command::Serve(_)
            | Command::Worker(_)
    )
}

fn tell(error: &CliError, look: &Look) -> u8 {
    output::talk(&output::named(error.text(look).trim_end()));
    error.exit_code()
}

/// Help and version are data; everything else that clap has to say is talk.
fn not_a_request(error: &clap::Error) -> u8 {
    let text = error.render().to_string();
    let text = output::named(text.trim_end());
    let text = &*text;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => output::data(text),
        _ => {
            output::talk(text);
            exit::USAGE
        }
    }
}
