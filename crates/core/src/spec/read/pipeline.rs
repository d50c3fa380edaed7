//! Reads the top level of the file.

use std::collections::BTreeSet;
use std::iter::once;

use super::reader::{PipelineReader, key_name, spanned};
use crate::problem::{Problem, ProblemCode, SuggestedFix};
use crate::spec::declaration::{PipelineDecl, Spanned, SpannedSetting, StepDecl, StepSettings};
use crate::spec::duration::parse_positive_duration;
use crate::spec::keys::PIPELINE;
use crate::spec::names::{is_name, name_like};
use crate::spec::yaml::{YamlEntry, YamlNode, YamlValue};

/// Distinct secrets of one pipeline. A worker masks the values of all of them in every output.
const SECRETS_MAX: usize = 100;

impl PipelineReader<'_> {
    /// Reads the whole pipeline.
    pub(crate) fn pipeline(&mut self, root: &YamlNode<'_>) -> PipelineDecl {
        let defaults = root.get("defaults").map(|node| self.settings(node)).unwrap_or_default();
        self.default_shell.clone_from(&defaults.shell);
        let steps = self.steps(root);
        let secrets = self.all_secrets(&defaults, &steps);
        PipelineDecl {
            name: self.name(root.get("name")),
            about: root.get("about").and_then(YamlNode::as_text).map(str::to_owned),
            timeout: self.setting(root.get("timeout"), |text| parse_positive_duration(text).ok()),
            params: self.params(root.get("params")),
            env: self.env(root.get("env")),
            locks: self.locks_of(root.get("locks")),
            defaults,
            workspace: root.get("workspace").and_then(|node| self.workspace(node)),
            steps,
            secrets,
        }
    }

    /// Collects the secrets of the whole file. The work of each step contains all names, so their number is limited.
    fn all_secrets(&mut self, defaults: &StepSettings, steps: &[StepDecl]) -> BTreeSet<String> {
        let settings = once(defaults).chain(steps.iter().map(|step| &step.settings));
        let mut names = BTreeSet::new();
        for secret in settings.flat_map(|settings| settings.secrets.iter().flatten()) {
            if names.len() == SECRETS_MAX && !names.contains(&secret.value) {
                let title = format!("the pipeline lists more than {SECRETS_MAX} secrets");
                let help = "combine related values in one secret, or split the pipeline";
                let problem = Problem::new(ProblemCode::PlanTooLarge, secret.span.clone(), title);
                self.problems.push(problem.help(help));
                break;
            }
            names.insert(secret.value.clone());
        }
        names
    }

    fn name(&mut self, node: Option<&YamlNode<'_>>) -> Option<Spanned<String>> {
        let node = node?;
        let text = node.as_text()?;
        if !is_name(text) {
            let title = format!("`{text}` is not a valid name for a pipeline");
            let help = "names consist of letters, digits, `_` and `-`, and begin with a letter or `_`; use `about:` for a description";
            let fix = SuggestedFix::replace(self.source, &node.span, &name_like(text));
            self.report(
                Problem::new(ProblemCode::BadName, node.span.clone(), title).help(help).fix(fix),
            );
        }
        Some(spanned(text, &node.span))
    }

    fn locks_of(
        &mut self,
        node: Option<&YamlNode<'_>>,
    ) -> Vec<(Spanned<String>, SpannedSetting<u32>)> {
        let entries = node.map(YamlNode::entries).unwrap_or_default();
        let mut locks = Vec::new();
        for entry in entries {
            if let Some(slots) = self.setting(Some(&entry.value), |text| text.parse().ok()) {
                locks.push((key_name(&entry.key), slots));
            }
        }
        locks
    }

    fn steps(&mut self, root: &YamlNode<'_>) -> Vec<crate::spec::StepDecl> {
        let Some(steps) = root.get("steps").or_else(|| steps_by_foreign_name(root)) else {
            // Unknown keys are already reported, and one of them probably holds the steps.
            let unknown = |entry: &YamlEntry<'_>| {
                PIPELINE.key(&entry.key.text).is_none() && !entry.key.text.starts_with("x-")
            };
            if !matches!(root.value, YamlValue::Map(_)) || root.entries().iter().any(unknown) {
                return Vec::new();
            }
            let problem = Problem::new(
                ProblemCode::NoSteps,
                root.span.start..root.span.start,
                "the pipeline has no steps",
            );
            self.report(problem.help("add `steps:` with at least one step below it"));
            return Vec::new();
        };
        let entries = match &steps.value {
            YamlValue::Map(entries) if entries.is_empty() => {
                let problem = Problem::new(
                    ProblemCode::NoSteps,
                    steps.span.clone(),
                    "the pipeline has no steps",
                );
                self.report(problem.help("add at least one: `hello: { run: echo hi }`"));
                return Vec::new();
            }
            YamlValue::Map(entries) => entries,
            YamlValue::Null | YamlValue::Scalar(_) | YamlValue::List(_) | YamlValue::Broken => {
                return Vec::new();
            }
        };
        entries.iter().map(|entry| self.step(entry)).collect()
    }
}

/// Returns the steps under the key of another tool. That key is reported, but its steps are read.
fn steps_by_foreign_name<'n, 's>(root: &'n YamlNode<'s>) -> Option<&'n YamlNode<'s>> {
    let is_steps = |entry: &&YamlEntry<'_>| {
        let key = PIPELINE.by_foreign_name(&entry.key.text);
        key.is_some_and(|key| key.name == "steps") && matches!(entry.value.value, YamlValue::Map(_))
    };
    root.entries().iter().find(is_steps).map(|entry| &entry.value)
}
