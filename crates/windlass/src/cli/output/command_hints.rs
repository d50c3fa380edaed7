//! Commands that a reader can paste, about the run that is shown.

use windlass_core::id::RunId;

use super::program_name::with_program_name;

/// How the run that is shown is spoken of on a command line.
#[derive(Clone, Debug, Default)]
pub struct CommandHints {
    /// What runs a step of the same file, with the same params, but for the step's name; nothing if no file is known.
    pub run: Option<String>,
    /// The flag that names the store, with a blank before it; empty where the store is found without; nothing where it
    /// ended with its process.
    pub store: Option<String>,
    /// The flags that name the controller, each with a blank before it, where the run is at one.
    pub controller: Option<String>,
}

impl CommandHints {
    /// What runs a step again. A file's matrix is run as a whole; of an earlier run a cell can be done alone.
    pub fn again(&self, run: RunId, step: &str) -> Option<String> {
        if let Some(command) = &self.run {
            let matrix = step.split('[').next().unwrap_or(step);
            return Some(own(&format!("{command} {}", quoted(matrix))));
        }
        let place = self.place()?;
        Some(own(&format!("windlass rerun {run} --from {}{place}", quoted(step))))
    }

    /// What prints all that a step printed.
    pub fn logs(&self, run: RunId, step: &str) -> Option<String> {
        let place = self.place()?;
        Some(own(&format!("windlass logs {run} {}{place}", quoted(step))))
    }

    /// What shows the whole run.
    pub fn show(&self, run: RunId) -> Option<String> {
        let place = self.place()?;
        Some(own(&format!("windlass show {run}{place}")))
    }

    /// What shows the run until it has ended.
    pub fn watch(&self, run: RunId) -> Option<String> {
        let place = self.place()?;
        Some(own(&format!("windlass watch {run}{place}")))
    }

    /// What ends the run.
    pub fn cancel(&self, run: RunId) -> Option<String> {
        let place = self.place()?;
        Some(own(&format!("windlass cancel {run}{place}")))
    }

    fn place(&self) -> Option<&String> {
        self.store.as_ref().or(self.controller.as_ref())
    }

    /// What goes on with the run if it is interrupted.
    pub fn resume(&self, run: RunId) -> Option<String> {
        let store = self.store.as_ref()?;
        Some(own(&format!("windlass run --resume={run}{store}")))
    }
}

/// A command as one of this program.
fn own(command: &str) -> String {
    with_program_name(command).into_owned()
}

/// The text as a shell takes it: brackets and blanks mean something there.
pub fn quoted(text: &str) -> String {
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
    fn whatever_a_shell_would_read_otherwise_is_quoted() {
        assert_eq!(quoted("examples/tour.yml"), "examples/tour.yml");
        assert_eq!(quoted("title=My site"), "'title=My site'");
        assert_eq!(quoted("test[linux,a]"), "'test[linux,a]'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_cell_is_run_again_by_its_matrix_or_out_of_its_run() {
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
        assert_eq!(hints.again(run, "test"), None, "nothing is left of a run in memory");
        assert_eq!(hints.logs(run, "test"), None);
    }

    #[test]
    fn a_run_at_a_controller_is_looked_at_there() {
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
