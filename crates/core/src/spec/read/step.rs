//! A step.

use std::collections::BTreeMap;

use super::reader::{Reader, key_name, spanned, twice};
use super::settings::flag;
use crate::plan::Pin;
use crate::problem::{Code, Problem};
use crate::spec::names::is_name;
use crate::spec::pipeline::{NeedRef, Step};
use crate::spec::tree::{Entry, Node, Value};

impl Reader<'_> {
    pub(super) fn step(&mut self, entry: &Entry<'_>) -> Step {
        let node = &entry.value;
        let settings = self.settings(node);
        let shell = settings.shell.clone().or_else(|| self.default_shell.clone());
        let action = self.action(entry, shell.as_ref());
        Step {
            action,
            name: key_name(&entry.key),
            about: node.get("about").and_then(Node::as_text).map(str::to_owned),
            needs: self.needs(node.get("needs")),
            matrix: node.get("matrix").and_then(|node| self.matrix(node)),
            condition: node.get("if").and_then(|node| self.condition(node)),
            outputs: node.get("outputs").map(|node| self.names(node, "output")).unwrap_or_default(),
            locks: self.locks(node.get("lock")),
            pin: if node.get("pin").is_some() { Pin::Leader } else { Pin::Anywhere },
            per_worker: self.setting(node.get("per_worker"), |text| text.parse().ok()),
            once: node.get("idempotent").and_then(|node| self.text(node)),
            settings,
        }
    }

    fn needs(&mut self, node: Option<&Node<'_>>) -> Vec<NeedRef> {
        let mut needs: Vec<NeedRef> = Vec::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for item in node.map(Node::many).unwrap_or_default() {
            let Some(need) = self.need(item) else { continue };
            if let Some(first) = seen.get(&need.step.value) {
                let (what, first) = (format!("the need `{}`", need.step.value), &needs[*first]);
                self.tell(twice(need.step.span, first.step.span.clone(), &what));
                continue;
            }
            seen.insert(need.step.value.clone(), needs.len());
            needs.push(need);
        }
        needs
    }

    fn need(&mut self, node: &Node<'_>) -> Option<NeedRef> {
        let map = matches!(node.value, Value::Map(_));
        let Some(step) = (if map { node.get("step") } else { Some(node) }) else {
            self.tell(missing(node, "step", "need"));
            return None;
        };
        let name = step.as_text().filter(|text| is_name(text))?;
        let optional = flag(node.get("optional")).unwrap_or(false);
        Some(NeedRef { step: spanned(name, &step.span), optional })
    }
}

pub(super) fn missing(node: &Node<'_>, key: &str, owner: &str) -> Problem {
    let title = format!("a {owner} needs the key `{key}`");
    Problem::new(Code::MissingKey, node.span.clone(), title)
}
