//! Reads the settings of a step and of `defaults`.

use super::reader::{PipelineReader, spanned};
use super::setting_values::{duration_range, lock_order, on_lost_contact, retry_on};
use crate::environment::is_own_setting;
use crate::plan::LockOrder;
use crate::problem::{Problem, ProblemCode};
use crate::requirement::Requirement;
use crate::spec::declaration::{LockRef, NodeFilter, RetryDecl, Spanned, StepSettings};
use crate::spec::duration::{parse_duration, parse_positive_duration};
use crate::spec::yaml::{YamlNode, YamlScalar, YamlValue};

impl PipelineReader<'_> {
    pub(super) fn settings(&mut self, node: &YamlNode<'_>) -> StepSettings {
        let span = |text: &str| parse_duration(text).ok();
        StepSettings {
            env: self.env(node.get("env")),
            secrets: node.get("secrets").map(|node| self.secrets(node)),
            tags: node.get("tags").map(|node| self.names(node, "tag")),
            shell: node.get("shell").and_then(|node| self.shell(node)),
            dir: node.get("dir").and_then(|node| self.text(node)),
            timeout: self.setting(node.get("timeout"), |text| parse_positive_duration(text).ok()),
            retry: node.get("retry").map(|node| self.retry(node)),
            requires: node.get("requires").map(|node| self.clauses(node)),
            prefers: node.get("prefers").map(|node| self.clauses(node)),
            priority: self.setting(node.get("priority"), |text| text.parse().ok()),
            ignore_failure: flag(node.get("ignore_failure")),
            on_lost_contact: node
                .get("on_lost_contact")
                .and_then(YamlNode::as_text)
                .and_then(on_lost_contact),
            wait_for_worker: self.setting(node.get("wait_for_worker"), span),
            wait_for_lock: self.setting(node.get("wait_for_lock"), span),
            kill_grace: self.setting(node.get("kill_grace"), span),
            nodes: node.get("nodes").map(|node| self.nodes(node)),
        }
    }

    fn secrets(&mut self, node: &YamlNode<'_>) -> Vec<Spanned<String>> {
        let names = self.names(node, "secret");
        for name in names.iter().filter(|name| is_own_setting(&name.value)) {
            let title = format!("`{}` is a setting of windlass and cannot be a secret", name.value);
            let problem = Problem::new(ProblemCode::ReservedName, name.span.clone(), title);
            self.problems.push(problem.help("choose a name that does not begin with `WINDLASS_`"));
        }
        names
    }

    fn shell(&mut self, node: &YamlNode<'_>) -> Option<Spanned<String>> {
        let text = node.as_text()?;
        if text.contains("${{") {
            let title =
                "`shell` cannot contain `${{ }}`, because the shell decides how `${{ }}` is read";
            let problem = Problem::new(ProblemCode::TooLate, node.span.clone(), title);
            self.report(
                problem.help("write the shell literally, or make two steps with an `if:` each"),
            );
        }
        Some(spanned(text, &node.span))
    }

    fn retry(&mut self, node: &YamlNode<'_>) -> RetryDecl {
        let times = |text: &str| text.parse().ok();
        if matches!(node.value, YamlValue::Scalar(_)) {
            return RetryDecl { times: self.setting(Some(node), times), ..RetryDecl::default() };
        }
        let on = node.get("on").map(YamlNode::items_or_self).unwrap_or_default();
        RetryDecl {
            times: self.setting(node.get("times"), times),
            wait: self.setting(node.get("wait"), |text| duration_range(text).ok()),
            on: on.iter().filter_map(|item| self.setting(Some(item), retry_on)).collect(),
            elsewhere: flag(node.get("elsewhere")).unwrap_or(false),
            lost: self.setting(node.get("lost"), times),
        }
    }

    fn clauses(
        &mut self,
        node: &YamlNode<'_>,
    ) -> Vec<crate::spec::SpannedSetting<crate::requirement::RequirementClause>> {
        let read = |text: &str| Requirement::parse(text).ok();
        node.items_or_self().iter().filter_map(|item| self.setting(Some(item), read)).collect()
    }

    fn nodes(&mut self, node: &YamlNode<'_>) -> NodeFilter {
        NodeFilter { allow: self.texts(node.get("allow")), deny: self.texts(node.get("deny")) }
    }

    pub(super) fn locks(&mut self, node: Option<&YamlNode<'_>>) -> Vec<LockRef> {
        let items = node.map(YamlNode::items_or_self).unwrap_or_default();
        items.iter().filter_map(|item| self.lock(item)).collect()
    }

    fn lock(&mut self, node: &YamlNode<'_>) -> Option<LockRef> {
        if node.as_scalar().is_some_and(|of| of.as_flag().is_some() || of.looks_like_number()) {
            let title = format!("`lock` takes a name, but this is {}", node.kind());
            let problem = Problem::new(ProblemCode::WrongType, node.span.clone(), title);
            self.report(problem.help(
                "name a lock; steps with the same lock run one at a time: `lock: production`",
            ));
            return None;
        }
        if matches!(node.value, YamlValue::Scalar(_)) {
            return Some(LockRef { name: self.text(node)?, order: LockOrder::Fifo });
        }
        let order = node.get("order").and_then(YamlNode::as_text).and_then(lock_order);
        let Some(name) = node.get("name") else {
            self.report(super::step::missing(node, "name", "lock"));
            return None;
        };
        Some(LockRef { name: self.text(name)?, order: order.unwrap_or_default() })
    }
}

pub(super) fn flag(node: Option<&YamlNode<'_>>) -> Option<bool> {
    node.and_then(YamlNode::as_scalar).and_then(YamlScalar::as_flag)
}
