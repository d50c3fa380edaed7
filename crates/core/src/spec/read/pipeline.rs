//! The file itself.

use std::collections::BTreeSet;
use std::iter::once;

use super::reader::{Reader, key_name, spanned};
use crate::problem::{Code, Fix, Problem};
use crate::spec::keys::PIPELINE;
use crate::spec::names::{is_name, name_like};
use crate::spec::pipeline::{Pipeline, Setting, Settings, Spanned, Step};
use crate::spec::tree::{Entry, Node, Value};
use crate::spec::units::limit;

/// Different secrets of one pipeline. A worker looks for the values of all of them in every output.
const SECRETS_MAX: usize = 100;

impl Reader<'_> {
    /// The whole pipeline.
    pub(crate) fn pipeline(&mut self, root: &Node<'_>) -> Pipeline {
        let defaults = root.get("defaults").map(|node| self.settings(node)).unwrap_or_default();
        self.default_shell.clone_from(&defaults.shell);
        let steps = self.steps(root);
        let secrets = self.all_secrets(&defaults, &steps);
        Pipeline {
            name: self.name(root.get("name")),
            about: root.get("about").and_then(Node::as_text).map(str::to_owned),
            timeout: self.setting(root.get("timeout"), |text| limit(text).ok()),
            params: self.params(root.get("params")),
            env: self.env(root.get("env")),
            locks: self.locks_of(root.get("locks")),
            defaults,
            steps,
            secrets,
        }
    }

    /// The secrets of the whole file. Each step carries the names of all, so there is a bound on them.
    fn all_secrets(&mut self, defaults: &Settings, steps: &[Step]) -> BTreeSet<String> {
        let settings = once(defaults).chain(steps.iter().map(|step| &step.settings));
        let mut names = BTreeSet::new();
        for secret in settings.flat_map(|settings| settings.secrets.iter().flatten()) {
            if names.len() == SECRETS_MAX && !names.contains(&secret.value) {
                let title = format!("the pipeline lists more than {SECRETS_MAX} secrets");
                let help = "put values that belong together into one secret, or make two pipelines";
                let problem = Problem::new(Code::PlanTooLarge, secret.span.clone(), title);
                self.problems.push(problem.help(help));
                break;
            }
            names.insert(secret.value.clone());
        }
        names
    }

    fn name(&mut self, node: Option<&Node<'_>>) -> Option<Spanned<String>> {
        let node = node?;
        let text = node.as_text()?;
        if !is_name(text) {
            let title = format!("`{text}` is no name for a pipeline");
            let help = "names are made of letters, digits, `_` and `-`, and begin with a letter or `_`; say more in `about:`";
            let fix = Fix::replace(self.source, &node.span, &name_like(text));
            self.tell(Problem::new(Code::BadName, node.span.clone(), title).help(help).fix(fix));
        }
        Some(spanned(text, &node.span))
    }

    fn locks_of(&mut self, node: Option<&Node<'_>>) -> Vec<(Spanned<String>, Setting<u32>)> {
        let entries = node.map(Node::entries).unwrap_or_default();
        let mut locks = Vec::new();
        for entry in entries {
            if let Some(slots) = self.setting(Some(&entry.value), |text| text.parse().ok()) {
                locks.push((key_name(&entry.key), slots));
            }
        }
        locks
    }

    fn steps(&mut self, root: &Node<'_>) -> Vec<crate::spec::Step> {
        let Some(steps) = root.get("steps").or_else(|| steps_otherwise(root)) else {
            // Keys that are none are told already, and the steps are most likely there.
            let unknown = |entry: &Entry<'_>| {
                PIPELINE.key(&entry.key.text).is_none() && !entry.key.text.starts_with("x-")
            };
            if !matches!(root.value, Value::Map(_)) || root.entries().iter().any(unknown) {
                return Vec::new();
            }
            let problem =
                Problem::new(Code::NoSteps, root.span.start..root.span.start, "there are no steps");
            self.tell(problem.help("add `steps:` with at least one step below it"));
            return Vec::new();
        };
        let entries = match &steps.value {
            Value::Map(entries) if entries.is_empty() => {
                let problem = Problem::new(Code::NoSteps, steps.span.clone(), "there are no steps");
                self.tell(problem.help("write at least one: `hello: { run: echo hi }`"));
                return Vec::new();
            }
            Value::Map(entries) => entries,
            Value::Null | Value::Scalar(_) | Value::List(_) | Value::Broken => return Vec::new(),
        };
        entries.iter().map(|entry| self.step(entry)).collect()
    }
}

/// The steps under another tool's word for them: told, and read all the same.
fn steps_otherwise<'n, 's>(root: &'n Node<'s>) -> Option<&'n Node<'s>> {
    let is_steps = |entry: &&Entry<'_>| {
        let key = PIPELINE.by_foreign(&entry.key.text);
        key.is_some_and(|key| key.name == "steps") && matches!(entry.value.value, Value::Map(_))
    };
    root.entries().iter().find(is_steps).map(|entry| &entry.value)
}
