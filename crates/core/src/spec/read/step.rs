//! Reads a step.

use std::collections::BTreeMap;

use super::reader::{PipelineReader, duplicate_problem, key_name, spanned};
use super::settings::flag;
use crate::plan::PinTarget;
use crate::problem::{Problem, ProblemCode};
use crate::spec::declaration::{NeedRef, StepDecl};
use crate::spec::names::is_name;
use crate::spec::yaml::{YamlEntry, YamlNode, YamlValue};

impl PipelineReader<'_> {
    pub(super) fn step(&mut self, entry: &YamlEntry<'_>) -> StepDecl {
        let node = &entry.value;
        let settings = self.settings(node);
        let shell = settings.shell.clone().or_else(|| self.default_shell.clone());
        let action = self.action(entry, shell.as_ref());
        StepDecl {
            action,
            name: key_name(&entry.key),
            about: node.get("about").and_then(YamlNode::as_text).map(str::to_owned),
            needs: self.needs(node.get("needs")),
            matrix: node.get("matrix").and_then(|node| self.matrix(node)),
            condition: node.get("if").and_then(|node| self.condition(node)),
            outputs: node.get("outputs").map(|node| self.names(node, "output")).unwrap_or_default(),
            locks: self.locks(node.get("lock")),
            pin: if node.get("pin").is_some() { PinTarget::Leader } else { PinTarget::Anywhere },
            per_worker: self.setting(node.get("per_worker"), |text| text.parse().ok()),
            idempotency_key: node.get("idempotent").and_then(|node| self.text(node)),
            junit_reports: self.junit_reports(node),
            artifacts: node.get("artifacts").and_then(|node| self.artifacts(node)),
            fetch: node.get("fetch").map(|node| self.fetch(node)),
            settings,
        }
    }

    fn needs(&mut self, node: Option<&YamlNode<'_>>) -> Vec<NeedRef> {
        let mut needs: Vec<NeedRef> = Vec::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for item in node.map(YamlNode::items_or_self).unwrap_or_default() {
            let Some(need) = self.need(item) else { continue };
            if let Some(first) = seen.get(&need.step.value) {
                let (what, first) = (format!("the need `{}`", need.step.value), &needs[*first]);
                self.report(duplicate_problem(need.step.span, first.step.span.clone(), &what));
                continue;
            }
            seen.insert(need.step.value.clone(), needs.len());
            needs.push(need);
        }
        needs
    }

    fn need(&mut self, node: &YamlNode<'_>) -> Option<NeedRef> {
        let map = matches!(node.value, YamlValue::Map(_));
        let Some(step) = (if map { node.get("step") } else { Some(node) }) else {
            self.report(missing(node, "step", "need"));
            return None;
        };
        let name = step.as_text().filter(|text| is_name(text))?;
        let optional = flag(node.get("optional")).unwrap_or(false);
        Some(NeedRef { step: spanned(name, &step.span), optional })
    }
}

pub(super) fn missing(node: &YamlNode<'_>, key: &str, owner: &str) -> Problem {
    let title = format!("a {owner} requires the key `{key}`");
    Problem::new(ProblemCode::MissingKey, node.span.clone(), title)
}
