//! Reads the action of a step: exactly one of `run`, `call` and actions that are not available yet.

use super::reader::{PipelineReader, spanned};
use crate::problem::{Problem, ProblemCode};
use crate::shell;
use crate::spec::declaration::{ActionDecl, CallDecl, CallTarget, Spanned};
use crate::spec::keys::STEP;
use crate::spec::yaml::{YamlEntry, YamlNode, YamlValue};

/// The action keys; a step has exactly one.
const ACTIONS: &[&str] = &["run", "call", "http", "loop"];
/// Shells whose syntax the lexer of `${{ }}` understands.
const SH_LIKE: &[&str] = &["sh", "dash", "bash", "ash", "ksh", "zsh"];

impl PipelineReader<'_> {
    pub(super) fn action(
        &mut self,
        entry: &YamlEntry<'_>,
        shell: Option<&Spanned<String>>,
    ) -> ActionDecl {
        let node = &entry.value;
        let present: Vec<&YamlEntry<'_>> =
            node.entries().iter().filter(|e| ACTIONS.contains(&&*e.key.text)).collect();
        if let [first, second, ..] = present.as_slice() {
            let title = format!(
                "a step has one action, but this one has both `{}` and `{}`",
                first.key.text, second.key.text
            );
            let problem = Problem::new(ProblemCode::TwoActions, second.key.span.clone(), title);
            self.report(
                problem.also(first.key.span.clone(), "first").help("split it into two steps"),
            );
        }
        let with = node.entries().iter().find(|e| e.key.text == "with");
        if let Some(with) = with.filter(|_| node.get("call").is_none()) {
            let title = "`with` passes values to a called step, but this step has no `call`";
            let problem = Problem::new(ProblemCode::MissingKey, with.key.span.clone(), title);
            self.report(problem.help("pass values to a command as variables: `env:`"));
        }
        self.check_files_of_a_command(node);
        match present.first().map(|e| (&*e.key.text, &e.value)) {
            Some(("run", value)) => self.run(value, shell),
            Some(("call", value)) => self.call(value, node.get("with")),
            Some(("http", _)) => ActionDecl::Unavailable("http"),
            Some(_) => ActionDecl::Unavailable("loop"),
            None => {
                // An unknown key is already reported, and is probably the misspelled action.
                let unknown = |e: &YamlEntry<'_>| {
                    STEP.key(&e.key.text).is_none() && !e.key.text.starts_with("x-")
                };
                let map = matches!(node.value, YamlValue::Null | YamlValue::Map(_));
                if map && !node.entries().iter().any(unknown) {
                    self.report(empty(entry));
                }
                ActionDecl::Noop
            }
        }
    }

    /// Only commands have files: a function in Rust passes values.
    fn check_files_of_a_command(&mut self, node: &YamlNode<'_>) {
        let of_files = |entry: &&YamlEntry<'_>| matches!(&*entry.key.text, "artifacts" | "fetch");
        let Some(entry) = node.entries().iter().find(of_files) else { return };
        if node.get("call").is_none() {
            return;
        }
        let title =
            format!("`{}` belongs to a step with `run`, and this one has `call`", entry.key.text);
        let problem = Problem::new(ProblemCode::Conflict, entry.key.span.clone(), title);
        self.report(problem.help("read and write the files in a step with `run`"));
    }

    fn run(&mut self, node: &YamlNode<'_>, shell: Option<&Spanned<String>>) -> ActionDecl {
        let Some(text) = node.as_text() else { return ActionDecl::Noop };
        if self.is_too_long(node) {
            return ActionDecl::Noop;
        }
        let written = spanned(text, &node.span);
        let sh_like = shell.is_none_or(|shell| is_sh_like(&shell.value));
        if shell.is_none()
            && !text.contains("${{")
            && let Some(argv) = shell::direct_command(text)
        {
            return ActionDecl::Exec { argv, written };
        }
        if !sh_like {
            self.splice_in_other_shell(node, text, shell);
            let (text, vars) = (text.to_owned(), Vec::new());
            return ActionDecl::Script { text, vars, written, reads: Vec::new() };
        }
        let Some(script) = self.parsed_with_every_error(node, shell::parse_script) else {
            return ActionDecl::Noop;
        };
        let paths = script.vars.iter().flat_map(|(_, expression)| expression.paths()).collect();
        let reads = self.reads(node, paths);
        ActionDecl::Script { text: script.text, vars: script.vars, written, reads }
    }

    /// Reports `${{ }}` in other shells: only the quoting of sh is known, so a value could become code.
    fn splice_in_other_shell(
        &mut self,
        node: &YamlNode<'_>,
        text: &str,
        shell: Option<&Spanned<String>>,
    ) {
        let Some(at) = text.find("${{") else { return };
        let end = text[at..].find("}}").map_or(text.len(), |close| at + close + 2);
        let name = shell.map_or("this shell", |shell| &shell.value);
        let span = node.locate(self.source.text(), &(at..end));
        let title = format!("`${{{{ }}}}` is not allowed in a script for `{name}`");
        let value = &text[at..end];
        let help = format!(
            "windlass knows only the quoting of sh: write `env: {{ VALUE: \"{value}\" }}` and read the variable"
        );
        self.report(Problem::new(ProblemCode::Splice, span, title).help(help));
    }

    fn call(&mut self, node: &YamlNode<'_>, with: Option<&YamlNode<'_>>) -> ActionDecl {
        let Some(text) = node.as_text().filter(|text| *text != "noop") else {
            return ActionDecl::Noop;
        };
        let Some(target) = CallTarget::parse(text) else {
            let title = format!("there is no built-in step `{text}`");
            let problem = Problem::new(ProblemCode::UnknownCall, node.span.clone(), title);
            self.report(problem.help("write a command as `run:`"));
            return ActionDecl::Noop;
        };
        let target = Spanned { value: target, span: node.span.clone() };
        ActionDecl::Call(Box::new(CallDecl { target, with: self.values(with) }))
    }
}

fn empty(entry: &YamlEntry<'_>) -> Problem {
    let name = &entry.key.text;
    Problem::new(
        ProblemCode::EmptyStep,
        entry.key.span.clone(),
        format!("the step `{name}` has no action"),
    )
    .help("add `run:` with a command; a step that only waits for others is `call: noop`")
}

fn is_sh_like(shell: &str) -> bool {
    let program = shell.split_whitespace().next().unwrap_or("");
    SH_LIKE.contains(&program.rsplit('/').next().unwrap_or(""))
}
