//! What the user asked for, read from the arguments and nothing else.

use std::ffi::OsString;

/// One request of the user.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// `--help`: explain the program.
    Help,
    /// `--version`: name the program and its version.
    Version,
    /// Anything else, no arguments included: no command exists yet.
    Command,
}

impl Request {
    /// Reads the arguments that follow the program's name.
    pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Self {
        let arguments: Vec<OsString> = arguments.into_iter().collect();
        match arguments.as_slice() {
            [only] if only == "--help" || only == "-h" => Self::Help,
            [only] if only == "--version" || only == "-V" => Self::Version,
            _ => Self::Command,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Request;

    fn parse(line: &str) -> Request {
        Request::parse(line.split_whitespace().map(Into::into))
    }

    #[test]
    fn an_option_is_known_by_both_its_names() {
        assert_eq!(parse("--help"), Request::Help);
        assert_eq!(parse("-h"), Request::Help);
        assert_eq!(parse("--version"), Request::Version);
        assert_eq!(parse("-V"), Request::Version);
    }

    #[test]
    fn anything_else_asks_for_a_command() {
        for line in ["", "run", "--versions", "--help run"] {
            assert_eq!(parse(line), Request::Command, "{line}");
        }
    }
}
