//! `windlass --help`: the commands in groups, with the descriptions of their own help.

use clap::CommandFactory as _;

use super::args::CliArgs;

/// The template of the help. clap knows only a flat list of commands, so the groups are inserted here.
pub(super) const TEMPLATE: &str = "{about}\n\nUsage: {usage}\n\n{commands}{options}{after-help}";

/// The smallest pipeline, at the end of the help.
pub(super) const SMALLEST: &str = "\
The smallest pipeline, in a file windlass.yml:

  steps:
    hello:
      run: echo hi

`windlass init` creates one for this folder. `windlass COMMAND --help` has details and examples.";

/// The commands by purpose. A command without a group fails a test.
const GROUPS: &[(&str, &[&str])] = &[
    ("Run", &["run", "rerun", "cancel", "watch"]),
    ("Look", &["runs", "show", "logs", "artifacts", "why", "plan", "graph", "explain"]),
    ("Write a pipeline", &["init", "validate", "expand", "schema", "ci"]),
    ("This machine", &["doctor", "config", "completions"]),
    ("Use a cluster", &["submit", "workers", "locks", "keys", "queue", "context"]),
    ("Serve", &["serve", "worker", "dev", "token", "audit", "store"]),
];

/// The command line with its grouped help.
pub(super) fn command() -> clap::Command {
    let command = CliArgs::command();
    let commands = grouped(&command);
    let options = "Options:\n  -h, --help     Print this help\n  -V, --version  Print the version";
    let template = TEMPLATE.replace("{commands}", &commands).replace("{options}", options);
    let command = command.help_template(template).override_usage("windlass COMMAND [ARGUMENTS]");
    stating_defaults(command)
}

/// States the default of every argument as `(default: 6s)`, as the help texts of computed defaults do.
fn stating_defaults(command: clap::Command) -> clap::Command {
    command.mut_args(stating_default).mut_subcommands(stating_defaults)
}

fn stating_default(arg: clap::Arg) -> clap::Arg {
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let Some(help) = arg.get_help().filter(|_| !defaults.is_empty()) else { return arg };
    let help = format!("{help} (default: {})", defaults.join(", "));
    arg.help(help).hide_default_value(true)
}

/// The names of all commands.
pub(super) fn commands() -> Vec<String> {
    CliArgs::command().get_subcommands().map(|sub| sub.get_name().to_owned()).collect()
}

fn grouped(command: &clap::Command) -> String {
    let width = command.get_subcommands().map(|sub| sub.get_name().len()).max().unwrap_or(0);
    let about = |name: &&str| {
        let sub = command.find_subcommand(name)?;
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        Some(format!("  {name:width$}  {about}\n"))
    };
    let filled = GROUPS.iter().filter(|(_, names)| !names.is_empty());
    let group = |(title, names): &(&str, &[&str])| {
        let lines: String = names.iter().filter_map(about).collect();
        format!("{title}:\n{lines}\n")
    };
    filled.map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_stated_in_one_form() {
        let mut command = command();
        let serve = command.find_subcommand_mut("serve").expect("it is a command");
        let help = serve.render_long_help().to_string();
        assert!(help.contains("(default: 127.0.0.1:7700)"), "{help}");
        assert!(!help.contains("[default:"), "{help}");
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = CliArgs::command();
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        grouped.sort_unstable();
        known.sort_unstable();
        assert_eq!(grouped, known);
    }
}
