//! Parses the arguments after inserting the values of variables and files.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Command, FromArgMatches as _};
use windlass_core::spec::nearest_name;

use super::catalogue::{CLIENT, SECTIONS, SettingsSection};
use super::layers::SettingsLayers;
use crate::cli::args::CliArgs;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::help;

/// Why parsing failed.
#[derive(Debug)]
pub(crate) enum ParseRefusal {
    /// The arguments are invalid, or request help.
    Arguments(Box<clap::Error>),
    /// The other settings are invalid.
    Settings(Box<CliError>),
}

/// Parses the arguments, including the program's name.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<CliArgs, ParseRefusal> {
    let matches = parse_leniently(&arguments)?;
    let matches = match settings_of(&matches) {
        Some((section, given)) => {
            let layers =
                layers(section, given).map_err(|error| ParseRefusal::Settings(error.into()))?;
            let more = setting_arguments(&layers, section, given);
            parse_with_settings(arguments, more)
                .map_err(|error| ParseRefusal::Arguments(error.into()))?
        }
        None => matches,
    };
    CliArgs::from_arg_matches(&matches).map_err(|error| ParseRefusal::Arguments(error.into()))
}

/// Parses the given arguments. A missing argument is no error yet: another source may have it.
fn parse_leniently(arguments: &[OsString]) -> Result<ArgMatches, ParseRefusal> {
    let lenient = with_valued_switches(help::command(), |arg| arg.required(false));
    lenient.try_get_matches_from(arguments).map_err(|error| {
        // Errors are reported for the real command.
        let strict = help::command().try_get_matches_from(arguments);
        ParseRefusal::Arguments(suggest_command(strict.err().unwrap_or(error), arguments).into())
    })
}

/// Suggests a command. clap's own suggestion misses swapped letters in short words: `rnu`.
fn suggest_command(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(written)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    // The word may also be a subcommand.
    if arguments.get(1).is_none_or(|first| first != written.as_str()) {
        return error;
    }
    let commands = help::command();
    let names = commands.get_subcommands().filter(|command| !command.is_hide_set());
    if let Some(name) = nearest_name(written, names.map(Command::get_name)) {
        let suggested = ContextValue::Strings(vec![name.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, suggested);
    }
    error
}

/// The section of the command, if values of files and variables are inserted into its arguments. Client settings have
/// their own rules: see `run_source`.
fn settings_of(matches: &ArgMatches) -> Option<(&'static str, &ArgMatches)> {
    let (name, given) = matches.subcommand()?;
    let section = SECTIONS.into_iter().find(|section| *section == name && *section != CLIENT)?;
    given.subcommand().is_none().then_some((section, given))
}

fn layers(section: &str, given: &ArgMatches) -> Result<SettingsLayers, CliError> {
    let context = CommandContext::of_process()?;
    let file = given.get_one::<std::path::PathBuf>("config");
    let layers = SettingsLayers::load(file.map(|file| &**file), &context)?;
    layers.check(section)?;
    Ok(layers)
}

/// The arguments for values of other sources, except for flags that were given.
fn setting_arguments(layers: &SettingsLayers, section: &str, given: &ArgMatches) -> Vec<OsString> {
    let SettingsSection { settings, .. } = layers.section(section);
    let absent = settings
        .iter()
        .filter(|setting| given.value_source(&setting.id) != Some(ValueSource::CommandLine));
    let arguments = absent.flat_map(|setting| {
        let said = layers.value_of(section, &setting.name);
        let values = said.map(|said| said.values).unwrap_or_default();
        values.into_iter().map(|value| format!("--{}={value}", setting.name).into())
    });
    arguments.collect()
}

/// The arguments with these inserted after the name of the command.
fn parse_with_settings(
    mut arguments: Vec<OsString>,
    more: Vec<OsString>,
) -> Result<ArgMatches, clap::Error> {
    let behind = arguments.len().min(2);
    drop(arguments.splice(behind..behind, more));
    with_valued_switches(help::command(), |arg| arg).try_get_matches_from(arguments)
}

/// The command line, with switches that can also be turned off: `--no-exec=false` where a file has turned it on.
fn with_valued_switches(command: Command, also: fn(clap::Arg) -> clap::Arg) -> Command {
    let change = |arg: clap::Arg| {
        let of_ours = arg.get_long().is_some();
        let switch = of_ours && matches!(arg.get_action(), ArgAction::SetTrue);
        let arg = if switch {
            arg.action(ArgAction::Set)
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .default_value("false")
                .value_parser(clap::value_parser!(bool))
        } else {
            arg
        };
        also(arg)
    };
    let commands = SECTIONS.into_iter().filter(|section| *section != CLIENT);
    commands.fold(command, |command, name| {
        command.mut_subcommand(name, |command| command.mut_args(change))
    })
}
