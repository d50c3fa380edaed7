//! What a step executes: exactly one of `run`, `call` and what is not available yet.

use super::reader::{PipelineReader, spanned};
use crate::problem::{Problem, ProblemCode};
use crate::shell;
use crate::spec::declaration::{ActionDecl, CallDecl, CallTarget, Spanned};
use crate::spec::keys::STEP;
use crate::spec::yaml::{YamlEntry, YamlNode, YamlValue};

/// Keys of which a step has one.
const ACTIONS: &[&str] = &["run", "call", "http", "loop"];
/// Shells whose language the lexer of `${{ }}` knows.
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
                "a step does one thing, and this one has `{}` and `{}`",
                first.key.text, second.key.text
            );
            let problem = Problem::new(ProblemCode::TwoActions, second.key.span.clone(), title);
            self.report(
                problem.also(first.key.span.clone(), "the first").help("make two steps of it"),
            );
        }
        let with = node.entries().iter().find(|e| e.key.text == "with");
        if let Some(with) = with.filter(|_| node.get("call").is_none()) {
            let title = "`with` hands values to a step that is called, and this one calls none";
            let problem = Problem::new(ProblemCode::MissingKey, with.key.span.clone(), title);
            self.report(problem.help("a command gets values as variables: `env:`"));
        }
        match present.first().map(|e| (&*e.key.text, &e.value)) {
            Some(("run", value)) => self.run(value, shell),
            Some(("call", value)) => self.call(value, node.get("with")),
            Some(("http", _)) => ActionDecl::Unavailable("http"),
            Some(_) => ActionDecl::Unavailable("loop"),
            None => {
                // An unknown key is told already, and is most likely what says what to do.
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

    /// Only the quoting of sh is known; in another language a value could become code.
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
        let title = format!("`${{{{ }}}}` cannot stand in a script for `{name}`");
        let value = &text[at..end];
        let help = format!(
            "windlass knows the quoting of sh only: write `env: {{ VALUE: \"{value}\" }}` and read the variable"
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
            self.report(problem.help("a command is written `run:`"));
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
        format!("the step `{name}` does nothing"),
    )
    .help("say what to do with `run:`; a step that only waits for others is `call: noop`")
}

fn is_sh_like(shell: &str) -> bool {
    let program = shell.split_whitespace().next().unwrap_or("");
    SH_LIKE.contains(&program.rsplit('/').next().unwrap_or(""))
}
