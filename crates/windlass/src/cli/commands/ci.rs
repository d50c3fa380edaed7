//! `windlass ci`

use std::path::PathBuf;

use crate::cli::bounded_number::number;
use crate::cli::output;
use crate::cli::output::quoted;

/// Print the configuration of a CI service whose runners share a run
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each runner is an instance of one run: instance 0 leads and works, the others work. They exchange
messages through a Redis that all of them can reach; set its address as the repository secret
WINDLASS_LINK. The variable WINDLASS_GIT sets where windlass is installed from. docs/guides/ci.md
has the details.

Examples:
  windlass ci github --instances 4 > .github/workflows/windlass.yml
  windlass ci gitlab --instances 4 ship.yml > .gitlab-ci.yml")]
pub(crate) struct CiArgs {
    /// Configure this service
    #[arg(value_enum)]
    service: CiService,
    /// Run this pipeline (default: windlass.yml)
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Share a run among this many runners
    #[arg(long, value_name = "N", value_parser = number(2..=200))]
    instances: u32,
}

/// A CI service.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum CiService {
    /// GitHub Actions
    Github,
    /// GitLab CI/CD
    Gitlab,
}

/// Prints the configuration.
pub(crate) fn run(args: &CiArgs) -> u8 {
    let file = args.file.as_ref().map(|file| quoted(&file.to_string_lossy()));
    let run = file.map_or("windlass run".to_owned(), |file| format!("windlass run {file}"));
    let text = match args.service {
        CiService::Github => github(args.instances, &run),
        CiService::Gitlab => gitlab(args.instances, &run),
    };
    output::print_data(text.replace("@INSTALL@", INSTALL).trim_end())
}

fn github(instances: u32, run: &str) -> String {
    let numbers: Vec<String> = (0..instances).map(|number| number.to_string()).collect();
    GITHUB.replace("@NUMBERS@", &numbers.join(", ")).replace("@RUN@", &scalar(run))
}

fn gitlab(instances: u32, run: &str) -> String {
    let flags = "--instance $((CI_NODE_INDEX - 1)) --total $CI_NODE_TOTAL";
    let run = scalar(&format!("{run} {flags}"));
    GITLAB.replace("@INSTANCES@", &instances.to_string()).replace("@RUN@", &run)
}

/// Quotes a line of shell for YAML if it needs it: JSON strings are YAML strings.
fn scalar(line: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ./_-$()".contains(c);
    if line.chars().all(plain) {
        line.to_owned()
    } else {
        serde_json::Value::from(line).to_string()
    }
}

/// Installs windlass on a runner, wherever it is published.
const INSTALL: &str = "cargo install --locked ${WINDLASS_GIT:+--git \"$WINDLASS_GIT\"} windlass";

/// Without `fail-fast: false`, one failing runner would cancel those that still work.
const GITHUB: &str = "\
name: windlass
on: [push]
permissions:
  contents: read
jobs:
  windlass:
    name: instance ${{ matrix.instance }}
    runs-on: ubuntu-latest
    timeout-minutes: 60
    strategy:
      fail-fast: false
      matrix:
        instance: [@NUMBERS@]
    env:
      WINDLASS_INSTANCE: ${{ matrix.instance }}
      WINDLASS_TOTAL: ${{ strategy.job-total }}
      WINDLASS_LINK: ${{ secrets.WINDLASS_LINK }}
      WINDLASS_RUN_SECRET: ${{ secrets.WINDLASS_RUN_SECRET }}
      WINDLASS_GIT: ${{ vars.WINDLASS_GIT }}
    steps:
      - uses: actions/checkout@v4
      # From the repository that the variable WINDLASS_GIT names, or from crates.io without it.
      - run: @INSTALL@
      - run: @RUN@
";

/// GitLab passes the project's variables to the job without further configuration.
const GITLAB: &str = "\
# WINDLASS_LINK and WINDLASS_RUN_SECRET are masked variables of the project: Settings, CI/CD, Variables.
windlass:
  image: rust:1
  parallel: @INSTANCES@
  timeout: 1h
  script:
    # From the repository that the variable WINDLASS_GIT names, or from crates.io without it.
    - @INSTALL@
    - @RUN@
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_with_any_file_name_is_one_line_of_yaml() {
        assert_eq!(scalar("windlass run a/b-c.yml"), "windlass run a/b-c.yml");
        assert_eq!(scalar("windlass run 'a: b.yml'"), r#""windlass run 'a: b.yml'""#);
        assert_eq!(scalar("windlass run 'a\"b.yml'"), r#""windlass run 'a\"b.yml'""#);
    }
}
