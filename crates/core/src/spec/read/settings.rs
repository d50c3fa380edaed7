//! Settings that a step has, or all steps by default.

use super::reader::{Reader, spanned};
use super::words::{lock_order, on_lost_contact, retry_on, wait};
use crate::environment::is_own_setting;
use crate::plan::LockOrder;
use crate::problem::{Code, Problem};
use crate::requirement::Requirement;
use crate::spec::pipeline::{LockRef, Nodes, Retry, Settings, Spanned};
use crate::spec::tree::{Node, Scalar, Value};
use crate::spec::units::{duration, limit};

impl Reader<'_> {
    pub(super) fn settings(&mut self, node: &Node<'_>) -> Settings {
        let span = |text: &str| duration(text).ok();
        Settings {
            env: self.env(node.get("env")),
            secrets: node.get("secrets").map(|node| self.secrets(node)),
            tags: node.get("tags").map(|node| self.names(node, "tag")),
            shell: node.get("shell").and_then(|node| self.shell(node)),
            dir: node.get("dir").and_then(|node| self.text(node)),
            timeout: self.setting(node.get("timeout"), |text| limit(text).ok()),
            retry: node.get("retry").map(|node| self.retry(node)),
            requires: node.get("requires").map(|node| self.clauses(node)),
            prefers: node.get("prefers").map(|node| self.clauses(node)),
            priority: self.setting(node.get("priority"), |text| text.parse().ok()),
            ignore_failure: flag(node.get("ignore_failure")),
            on_lost_contact: node
                .get("on_lost_contact")
                .and_then(Node::as_text)
                .and_then(on_lost_contact),
            wait_for_worker: self.setting(node.get("wait_for_worker"), span),
            wait_for_lock: self.setting(node.get("wait_for_lock"), span),
            kill_grace: self.setting(node.get("kill_grace"), span),
            nodes: node.get("nodes").map(|node| self.nodes(node)),
        }
    }

    fn secrets(&mut self, node: &Node<'_>) -> Vec<Spanned<String>> {
        let names = self.names(node, "secret");
        for name in names.iter().filter(|name| is_own_setting(&name.value)) {
            let title =
                format!("`{}` is a setting of windlass, and no secret of steps", name.value);
            let problem = Problem::new(Code::ReservedName, name.span.clone(), title);
            self.problems.push(problem.help("choose a name that does not begin with `WINDLASS_`"));
        }
        names
    }

    fn shell(&mut self, node: &Node<'_>) -> Option<Spanned<String>> {
        let text = node.as_text()?;
        if text.contains("${{") {
            let title = "the shell decides how `${{ }}` is read, and cannot be one itself";
            let problem = Problem::new(Code::TooLate, node.span.clone(), title);
            self.tell(problem.help("write the shell out, or make two steps with an `if:` each"));
        }
        Some(spanned(text, &node.span))
    }

    fn retry(&mut self, node: &Node<'_>) -> Retry {
        let times = |text: &str| text.parse().ok();
        if matches!(node.value, Value::Scalar(_)) {
            return Retry { times: self.setting(Some(node), times), ..Retry::default() };
        }
        let on = node.get("on").map(Node::many).unwrap_or_default();
        Retry {
            times: self.setting(node.get("times"), times),
            wait: self.setting(node.get("wait"), |text| wait(text).ok()),
            on: on.iter().filter_map(|item| self.setting(Some(item), retry_on)).collect(),
            elsewhere: flag(node.get("elsewhere")).unwrap_or(false),
            lost: self.setting(node.get("lost"), times),
        }
    }

    fn clauses(
        &mut self,
        node: &Node<'_>,
    ) -> Vec<crate::spec::Setting<crate::requirement::Clause>> {
        let read = |text: &str| Requirement::parse(text).ok();
        node.many().iter().filter_map(|item| self.setting(Some(item), read)).collect()
    }

    fn nodes(&mut self, node: &Node<'_>) -> Nodes {
        Nodes { allow: self.texts(node.get("allow")), deny: self.texts(node.get("deny")) }
    }

    pub(super) fn locks(&mut self, node: Option<&Node<'_>>) -> Vec<LockRef> {
        let items = node.map(Node::many).unwrap_or_default();
        items.iter().filter_map(|item| self.lock(item)).collect()
    }

    fn lock(&mut self, node: &Node<'_>) -> Option<LockRef> {
        if node.as_scalar().is_some_and(|of| of.as_flag().is_some() || of.looks_like_number()) {
            let title = format!("`lock` takes a name, and this is {}", node.kind());
            let problem = Problem::new(Code::WrongType, node.span.clone(), title);
            self.tell(
                problem.help("steps that name the same lock run one at a time: `lock: production`"),
            );
            return None;
        }
        if matches!(node.value, Value::Scalar(_)) {
            return Some(LockRef { name: self.text(node)?, order: LockOrder::Fifo });
        }
        let order = node.get("order").and_then(Node::as_text).and_then(lock_order);
        let Some(name) = node.get("name") else {
            self.tell(super::step::missing(node, "name", "lock"));
            return None;
        };
        Some(LockRef { name: self.text(name)?, order: order.unwrap_or_default() })
    }
}

pub(super) fn flag(node: Option<&Node<'_>>) -> Option<bool> {
    node.and_then(Node::as_scalar).and_then(Scalar::as_flag)
}
