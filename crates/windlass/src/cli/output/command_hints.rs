//! Commands about the shown run that a reader can paste.

use windlass_core::id::RunId;

use super::program_name::with_program_name;

/// The flags by which commands refer to the shown run.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandHints {
    /// The command that runs a step of the same file with the same params, without the step's name; `None` if no file
    /// is known.
    pub run: Option<String>,
    /// The flag of the store with a leading blank; empty for the default store, `None` for a store in memory.
    pub store: Option<String>,
    /// The flags of the controller, each with a leading blank, if the run is on one.
    pub controller: Option<String>,
}

impl CommandHints {
    /// The command that runs a step again. A file's matrix runs as a whole; a cell of an earlier run can be rerun
    /// alone.
    pub(crate) fn again(&self, run: RunId, step: &str) -> Option<String> {
        if let Some(command) = &self.run {
            let matrix = step.split('[').next().unwrap_or(step);
            return Some(own(&format!("{command} {}", quoted(matrix))));
        }
        let place = self.place()?;
        Some(own(&format!("windlass rerun {run} --from {}{place}", quoted(step))))
    }

    /// The command that prints a step's output.
    pub(crate) fn logs(&self, run: RunId, step: &str) -> Option<String> {
        let place = self.place()?;
        Some(own(&format!("windlass logs {run} {}{place}", quoted(step))))
    }

    /// The command that shows the run.
    pub(crate) fn show(&self, run: RunId) -> Option<String> {
        let place = self.place()?;
        Some(own(&format!("windlass show {run}{place}")))
    }

    /// The command that follows the run until it has ended.
    pub(crate) fn watch(&self, run: RunId) -> Option<String> {
        let place = self.place()?;
        Some(own(&format!("windlass watch {run}{place}")))
    }

    /// The command that cancels the run.
    pub(crate) fn cancel(&self, run: RunId) -> Option<String> {
        let place = self.place()?;
        Some(own(&format!("windlass cancel {run}{place}")))
    }

    fn place(&self) -> Option<&String> {
        self.store.as_ref().or(self.controller.as_ref())
    }

    /// The command that continues the run if it is interrupted.
    pub(crate) fn resume(&self, run: RunId) -> Option<String> {
        let store = self.store.as_ref()?;
        Some(own(&format!("windlass run --resume={run}{store}")))
    }
}

/// The command with the name of this program.
fn own(command: &str) -> String {
    with_program_name(command).into_owned()
}

/// Quotes the text for a shell, where brackets and blanks have a meaning.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_metacharacters_are_quoted() {
        assert_eq!(quoted("examples/tour.yml"), "examples/tour.yml");
        assert_eq!(quoted("title=My site"), "'title=My site'");
        assert_eq!(quoted("test[linux,a]"), "'test[linux,a]'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn cell_is_rerun_by_its_matrix_or_from_its_run() {
        let run = RunId(77);
        let mut hints = CommandHints {
            run: Some("windlass run".to_owned()),
            store: Some(String::new()),
            controller: None,
        };
        assert_eq!(hints.again(run, "test[linux]").as_deref(), Some("windlass run test"));
        hints.run = None;
        let rerun = "windlass rerun 2d --from 'test[linux]'";
        assert_eq!(hints.again(run, "test[linux]").as_deref(), Some(rerun));
        hints.store = None;
        assert_eq!(hints.again(run, "test"), None, "a run in memory leaves no store");
        assert_eq!(hints.logs(run, "test"), None);
    }

    #[test]
    fn hints_for_a_run_on_a_controller_name_the_controller() {
        let hints = CommandHints {
            controller: Some(" --to http://a:1".to_owned()),
            ..CommandHints::default()
        };
        let (run, text) = (RunId(77), |hint: Option<String>| hint.unwrap_or_default());
        assert_eq!(text(hints.logs(run, "test")), "windlass logs 2d test --to http://a:1");
        assert_eq!(text(hints.watch(run)), "windlass watch 2d --to http://a:1");
        let again = "windlass rerun 2d --from test --to http://a:1";
        assert_eq!(text(hints.again(run, "test")), again);
        assert_eq!(hints.resume(run), None);
    }
}
