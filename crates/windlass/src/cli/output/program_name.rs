//! The name of this program: `windlass`, or the name of another binary that contains it.

use std::borrow::Cow;
use std::sync::OnceLock;

/// The name in all texts.
const WINDLASS: &str = "windlass";

/// The replacement in another binary.
static PROGRAM_NAME: OnceLock<ProgramName> = OnceLock::new();

#[derive(Debug)]
struct ProgramName {
    name: String,
    /// The words that may follow the program's name: elsewhere `windlass` means windlass itself.
    commands: Vec<String>,
}

/// Shows commands with this program name from now on.
pub(in crate::cli) fn set_program_name(name: &str, commands: impl IntoIterator<Item = String>) {
    if name != WINDLASS {
        // The first call wins: a process has one name.
        let own = ProgramName { name: name.to_owned(), commands: commands.into_iter().collect() };
        drop(PROGRAM_NAME.set(own));
    }
}

/// The text, with windlass commands under this program's name.
pub(in crate::cli) fn with_program_name(text: &str) -> Cow<'_, str> {
    match PROGRAM_NAME.get() {
        Some(own) if text.contains(WINDLASS) => Cow::Owned(own.replaced(text)),
        _ => Cow::Borrowed(text),
    }
}

impl ProgramName {
    fn replaced(&self, text: &str) -> String {
        let mut replaced_text = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once(WINDLASS) {
            let begins = !before.ends_with(|c: char| c.is_alphanumeric() || "-_./".contains(c));
            replaced_text.push_str(before);
            replaced_text.push_str(if begins && self.is_command(behind) {
                &self.name
            } else {
                WINDLASS
            });
            rest = behind;
        }
        replaced_text + rest
    }

    fn is_command(&self, behind: &str) -> bool {
        let Some(behind) = behind.strip_prefix(' ') else { return false };
        let end = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let word = &behind[..end.unwrap_or(behind.len())];
        word == "COMMAND" || self.commands.iter().any(|command| command == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_get_the_program_name() {
        let commands = ["run".to_owned(), "logs".to_owned()].to_vec();
        let own = ProgramName { name: "ship".to_owned(), commands };
        let replaced_text = |text| own.replaced(text);
        assert_eq!(
            replaced_text("try `windlass logs 2d`, or windlass run"),
            "try `ship logs 2d`, or ship run"
        );
        assert_eq!(replaced_text("Usage: windlass COMMAND"), "Usage: ship COMMAND");
        let same = "windlass is running; .windlass run; windlass runs; windlass.yml; windlass";
        assert_eq!(replaced_text(same), same);
    }
}
