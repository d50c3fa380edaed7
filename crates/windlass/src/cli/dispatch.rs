//! From the arguments to the exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use windlass_link::mailbox::MailboxRegistry;
use windlass_worker::hide_memory;

use super::args::CliCommand;
use super::context::CommandContext;
use super::error::CliError;
use super::extensions::ProgramExtensions;
use super::output::TerminalCaps;
use super::settings::{ParseRefusal, parse};
use super::{commands, exit, output};

/// Runs the arguments after the program's name, for a program with these links and steps, and returns the exit code.
pub(super) fn run(
    arguments: impl IntoIterator<Item = OsString>,
    links: MailboxRegistry,
    compiled: ProgramExtensions,
) -> ExitCode {
    let arguments = std::iter::once("windlass".into()).chain(arguments).collect();
    let code = match parse(arguments) {
        Ok(cli) => answer(cli.command, links, compiled),
        Err(ParseRefusal::Arguments(error)) => print_clap_output(&error),
        Err(ParseRefusal::Settings(error)) => {
            let caps =
                CommandContext::of_process().map_or(TerminalCaps::PLAIN, |context| context.err);
            print_error(&error, &caps)
        }
    };
    ExitCode::from(code)
}

fn answer(command: CliCommand, links: MailboxRegistry, compiled: ProgramExtensions) -> u8 {
    let context = match CommandContext::of_process() {
        Ok(context) => CommandContext { links, compiled, ..context },
        Err(error) => return print_error(&error, &TerminalCaps::PLAIN),
    };
    if holds_secrets(&command) {
        hide_memory();
    }
    let answered = match command {
        CliCommand::Run(args) => commands::run::run(&args, &context),
        CliCommand::Rerun(args) => commands::rerun::run(&args, &context),
        CliCommand::Submit(args) => commands::submit::run(&args, &context),
        CliCommand::Cancel(args) => commands::cancel::run(&args, &context),
        CliCommand::Runs(args) => commands::runs::run(&args, &context),
        CliCommand::Show(args) => commands::show::run(&args, &context),
        CliCommand::Artifacts(args) => commands::artifacts::run(&args, &context),
        CliCommand::Logs(args) => commands::logs::run(&args, &context),
        CliCommand::Why(args) => commands::why::run(&args, &context),
        CliCommand::Watch(args) => commands::watch::run(&args, &context),
        CliCommand::Plan(args) => commands::plan::run(&args, &context),
        CliCommand::Graph(args) => commands::graph::run(&args, &context),
        CliCommand::Explain(args) => commands::explain::run(&args, &context),
        CliCommand::Init(args) => commands::init::run(&args, &context),
        CliCommand::Validate(args) => commands::validate::run(&args, &context),
        CliCommand::Expand(args) => commands::expand::run(&args, &context),
        CliCommand::Schema(args) => commands::schema::run(&args, &context),
        CliCommand::Ci(args) => Ok(commands::ci::run(&args)),
        CliCommand::Dev(args) => commands::dev::run(&args, &context),
        CliCommand::Serve(args) => commands::serve::run(&args, &context),
        CliCommand::Worker(args) => commands::worker::run(&args, &context),
        CliCommand::Workers(args) => commands::workers::run(&args, &context),
        CliCommand::Keys(args) => commands::keys::run(&args, &context),
        CliCommand::Locks(args) => commands::locks::run(&args, &context),
        CliCommand::Queue(args) => commands::queue::run(&args, &context),
        CliCommand::Token(args) => commands::token::run(&args, &context),
        #[cfg(feature = "postgres")]
        CliCommand::Store(args) => commands::store::run(&args, &context),
        CliCommand::Audit(args) => commands::audit::run(&args, &context),
        CliCommand::Config(args) => commands::config::run(&args, &context),
        CliCommand::Context(args) => commands::context::run(&args, &context),
        CliCommand::Doctor(args) => commands::doctor::run(&args, &context),
        CliCommand::Completions(args) => commands::completions::run(&args, &context),
    };
    answered.unwrap_or_else(|error| print_error(&error, &context.err))
}

/// Whether the process of a command holds secrets of steps or the credentials of a cluster.
const fn holds_secrets(command: &CliCommand) -> bool {
    matches!(
        command,
        CliCommand::Run(_)
            | CliCommand::Rerun(_)
            | CliCommand::Dev(_)
            | CliCommand::Serve(_)
            | CliCommand::Worker(_)
    )
}

fn print_error(error: &CliError, caps: &TerminalCaps) -> u8 {
    output::print_message(&output::with_program_name(error.text(caps).trim_end()));
    error.exit_code()
}

/// Help and version go to stdout; all other output of clap goes to stderr.
fn print_clap_output(error: &clap::Error) -> u8 {
    let text = error.render().to_string();
    let text = output::with_program_name(text.trim_end());
    let text = &*text;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => output::print_data(text),
        _ => {
            output::print_message(text);
            exit::USAGE
        }
    }
}
