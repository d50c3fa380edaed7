//! Walks the tree and checks it against the tables of keys.

use super::scalar::{expected_phrase, scalar_problem};
use super::{command_forms, unknown_key, yaml_pitfalls};
use crate::problem::{
    PROBLEMS_MAX, Problem, ProblemCode, ProblemSeverity, SourceFile, SuggestedFix,
};
use crate::spec::keys::{KeyAvailability, KeySpec, ObjectKeys, PARAM, STEP, ValueShape};
use crate::spec::limits::AXES_MAX;
use crate::spec::names::{is_name, is_reserved, name_like};
use crate::spec::yaml::{YamlEntry, YamlNode, YamlValue};

/// The key whose empty list has a meaning of its own: no artifacts instead of all.
const NONE_BY_EMPTY_LIST: &str = "fetch";

/// A list of problems.
pub(super) type ProblemList = Vec<Problem>;

/// Walks a tree and reports all differences from the tables.
#[derive(Debug)]
pub(crate) struct ShapeChecker<'a> {
    source: &'a SourceFile,
    not_available: ProblemSeverity,
    problems: &'a mut ProblemList,
}

impl<'a> ShapeChecker<'a> {
    pub(crate) const fn new(
        source: &'a SourceFile,
        not_available: ProblemSeverity,
        problems: &'a mut ProblemList,
    ) -> Self {
        Self { source, not_available, problems }
    }

    fn report(&mut self, problem: Problem) {
        Problem::add(self.problems, problem);
    }

    fn report_all(&mut self, problems: impl IntoIterator<Item = Problem>) {
        for problem in problems {
            self.report(problem);
        }
    }

    /// Reports a list or map with too many entries; its entries are not checked.
    fn is_too_long(&mut self, node: &YamlNode<'_>, what: &str, most: usize) -> bool {
        let count = match &node.value {
            YamlValue::List(items) => items.len(),
            YamlValue::Map(entries) => entries.len(),
            YamlValue::Null | YamlValue::Scalar(_) | YamlValue::Broken => return false,
        };
        if count <= most {
            return false;
        }
        let title = format!("{what} can have at most {most} entries; this one has {count}");
        self.report(Problem::new(ProblemCode::PlanTooLarge, first_line(self.source, node), title));
        true
    }

    /// Checks a map with known keys.
    pub(crate) fn object(&mut self, node: &YamlNode<'_>, object: &'static ObjectKeys) {
        let YamlValue::Map(entries) = &node.value else {
            self.report(not_an_object(node, object));
            return;
        };
        let own = |entry: &&YamlEntry<'_>| object.key(&entry.key.text).is_none();
        let axes = entries.iter().filter(own).count();
        if object.rest.is_some() && axes > AXES_MAX {
            let one = object.with_article();
            let title = format!("{one} can have at most {AXES_MAX} axes; this one has {axes}");
            self.report(Problem::new(
                ProblemCode::PlanTooLarge,
                first_line(self.source, node),
                title,
            ));
            return;
        }
        let swallowed = yaml_pitfalls::swallowed_entries(self.source, entries, self.problems);
        for (at, entry) in entries.iter().enumerate() {
            if entry.key.text.starts_with("x-") || swallowed.contains(&at) {
                continue;
            }
            match (object.key(&entry.key.text), object.rest) {
                (Some(key), _) => self.entry(key, entry),
                (None, Some(_)) if unknown_key::is_no_axis(object, entry) => {
                    self.unknown(object, entry);
                }
                (None, Some(rest)) => {
                    self.user_key(entry, rest);
                    self.value(&entry.value, rest, &entry.key.text);
                }
                (None, None) => self.unknown(object, entry),
            }
        }
    }

    fn entry(&mut self, key: &'static KeySpec, entry: &YamlEntry<'_>) {
        if key.available == KeyAvailability::NotYet {
            let title = format!("`{}` is not available yet", key.name);
            let problem = Problem::new(ProblemCode::NotAvailable, entry.key.span.clone(), title)
                .label("this version of windlass cannot execute this key")
                .severity(self.not_available);
            self.report(problem);
        }
        if !self.is_too_long(&entry.value, &format!("`{}`", key.name), key.entries_max) {
            self.value(&entry.value, key.shape, key.name);
        }
    }

    fn unknown(&mut self, object: &'static ObjectKeys, entry: &YamlEntry<'_>) {
        let (source, not_available) = (self.source, self.not_available);
        let renamed = |key: &'static KeySpec| {
            let mut problems = Vec::new();
            let mut walk = ShapeChecker::new(source, not_available, &mut problems);
            walk.value(&entry.value, key.shape, key.name);
            problems
        };
        // Problems inside a map under the key of another tool are reported too.
        let below = |key: &'static KeySpec| {
            let holds_map = matches!(key.shape, ValueShape::Map(_) | ValueShape::Object(_));
            holds_map && matches!(entry.value.value, YamlValue::Map(_))
        };
        let is_error = |problem: &Problem| problem.severity == ProblemSeverity::Error;
        let fits = |key: &'static KeySpec| below(key) || !renamed(key).iter().any(is_error);
        let problem = unknown_key::unknown_key(self.source, object, entry, fits);
        self.report(problem);
        if let Some(key) = object.by_foreign_name(&entry.key.text).filter(|key| below(key)) {
            self.report_all(renamed(key));
        }
    }

    /// Checks the value of a key or an item of a list.
    fn value(&mut self, node: &YamlNode<'_>, shape: ValueShape, key: &str) {
        if self.problems.len() >= PROBLEMS_MAX {
            return;
        }
        match (&node.value, shape) {
            (YamlValue::Broken, _) | (_, ValueShape::Anything) => {}
            (YamlValue::Null, _) => self.missing_value(node, shape, key),
            (YamlValue::List(items), ValueShape::List(item) | ValueShape::OneOrMany(item)) => {
                self.items(node, items, *item, key);
            }
            (
                YamlValue::Map(_),
                ValueShape::OneOrMany(
                    ValueShape::Name | ValueShape::Text | ValueShape::Requirement,
                ),
            ) => {
                self.wrong_type(node, shape, key);
            }
            (_, ValueShape::OneOrMany(item)) => self.single_item(node, *item, key),
            (YamlValue::Map(entries), ValueShape::Map(item)) => self.map(entries, *item),
            (YamlValue::Map(_), ValueShape::ShortOrObject(_, object))
            | (_, ValueShape::Object(object)) => {
                self.object(node, object);
            }
            (_, ValueShape::ShortOrObject(short, _)) => self.value(node, *short, key),
            (YamlValue::Scalar(_), ValueShape::Map(_) | ValueShape::List(_))
            | (YamlValue::List(_) | YamlValue::Map(_), _) => self.wrong_type(node, shape, key),
            (YamlValue::Scalar(scalar), _) => {
                self.report_all(yaml_pitfalls::hash_in_command(self.source, node, shape));
                self.report_all(command_forms::joined_lines(self.source, node, shape));
                self.report_all(yaml_pitfalls::lone_braces(self.source, node, shape));
                self.report_all(scalar_problem(self.source, node, scalar, shape, key));
            }
        }
    }

    fn single_item(&mut self, node: &YamlNode<'_>, item: ValueShape, key: &str) {
        match yaml_pitfalls::comma_list(self.source, node, item, key) {
            Some(problem) => self.report(problem),
            None => self.value(node, item, key),
        }
    }

    fn items(&mut self, list: &YamlNode<'_>, items: &[YamlNode<'_>], item: ValueShape, key: &str) {
        let may_be_empty =
            matches!(item, ValueShape::Text | ValueShape::Requirement) || key == NONE_BY_EMPTY_LIST;
        if items.is_empty() && !may_be_empty {
            let title = format!("`{key}` is an empty list");
            self.report(
                Problem::new(ProblemCode::Empty, list.span.clone(), title).help("remove the key"),
            );
        }
        for node in items {
            self.value(node, item, key);
        }
    }

    fn map(&mut self, entries: &[YamlEntry<'_>], item: ValueShape) {
        let swallowed = yaml_pitfalls::swallowed_entries(self.source, entries, self.problems);
        for (at, entry) in entries.iter().enumerate() {
            if swallowed.contains(&at) {
                continue;
            }
            self.user_key(entry, item);
            self.value(&entry.value, item, &entry.key.text);
        }
    }

    /// Checks a user-defined key. Expressions do not read locks (numbers) and variables (strings) as paths.
    fn user_key(&mut self, entry: &YamlEntry<'_>, of: ValueShape) {
        let (text, span) = (&*entry.key.text, entry.key.span.clone());
        if matches!(of, ValueShape::Number(..)) {
            return;
        }
        if !is_name(text) {
            let problem =
                Problem::new(ProblemCode::BadName, span, format!("`{text}` is not a valid name"));
            let like = name_like(text);
            let fix =
                is_name(&like).then(|| SuggestedFix::replace(self.source, &entry.key.span, &like));
            let help =
                "names consist of letters, digits, `_` and `-`, and begin with a letter or `_`";
            self.report(problem.help(help).fix(fix.flatten()));
        } else if is_reserved(text) && !matches!(of, ValueShape::Text) {
            let title = format!("`{text}` is a keyword of the expression language");
            let problem = Problem::new(ProblemCode::ReservedName, span, title);
            self.report(problem.help("choose another name: an expression could not refer to it"));
        }
    }

    fn missing_value(&mut self, node: &YamlNode<'_>, shape: ValueShape, key: &str) {
        // An empty step is reported elsewhere; an empty param is a required one.
        if matches!(shape, ValueShape::Object(object) if object.name == STEP.name)
            || matches!(shape, ValueShape::ShortOrObject(_, object) if object.name == PARAM.name)
        {
            return;
        }
        let title = format!("`{key}` has no value");
        let problem = Problem::new(ProblemCode::Empty, node.span.clone(), title);
        let help = if matches!(shape, ValueShape::Text) {
            "write `\"\"` for an empty string, or remove the key".to_owned()
        } else {
            format!("write {}, or remove the key", expected_phrase(shape))
        };
        self.report(problem.help(help));
    }

    fn wrong_type(&mut self, node: &YamlNode<'_>, shape: ValueShape, key: &str) {
        let title =
            format!("`{key}` takes {}, but this is {}", expected_phrase(shape), node.kind());
        let span = first_line(self.source, node);
        let problem = Problem::new(ProblemCode::WrongType, span, title);
        self.report(match (shape, &node.value) {
            (ValueShape::Script, YamlValue::List(_)) => problem
                .help("write each command on its own line after `run: |`")
                .fix(command_forms::one_command_per_line(self.source, key, node)),
            (ValueShape::List(_), YamlValue::Scalar(scalar)) => problem.fix(SuggestedFix::replace(
                self.source,
                &node.span,
                &format!("[{}]", scalar.text),
            )),
            (ValueShape::OneOrMany(ValueShape::Name), YamlValue::Map(entries)) => {
                let names: Vec<&str> = entries.iter().map(|entry| &*entry.key.text).collect();
                problem.help(format!("list the names: `{key}: [{}]`", names.join(", ")))
            }
            (ValueShape::Map(_), YamlValue::List(items)) => match list_as_map(key, items) {
                Some(help) => problem.help(help),
                None => problem,
            },
            _ => problem,
        });
    }
}

/// Explains how to write a list of named items as a map.
fn list_as_map(key: &str, items: &[YamlNode<'_>]) -> Option<String> {
    let first = items.first()?;
    let name = first.get("name").and_then(YamlNode::as_text);
    match key {
        "steps" => Some("write steps by name: `steps: { build: { run: make } }`".to_owned()),
        "env" => {
            let pair = first.as_text().and_then(|text| text.split_once('='));
            let (name, value) = pair.unwrap_or((name.unwrap_or("NAME"), "value"));
            Some(format!("write variables by name: `env: {{ {name}: {value} }}`"))
        }
        "params" => {
            let name = name.or_else(|| first.as_text()).unwrap_or("NAME");
            Some(format!("write params by name: `params: {{ {name}: {{ default: … }} }}`"))
        }
        _ => None,
    }
}

fn first_line(source: &SourceFile, node: &YamlNode<'_>) -> std::ops::Range<usize> {
    node.span.start..node.span.end.min(source.line_around(node.span.start).end.max(node.span.start))
}

fn not_an_object(node: &YamlNode<'_>, object: &ObjectKeys) -> Problem {
    let name = object.name;
    let problem = Problem::new(
        ProblemCode::WrongType,
        node.span.clone(),
        format!("{} is a map, but this is {}", object.with_article(), node.kind()),
    );
    match (name, node.as_text()) {
        ("step", Some(text)) if !text.contains('\n') => {
            problem.help(format!("write `{{ run: {} }}`", crate::spec::yaml::quoted_scalar(text)))
        }
        ("step", None) if matches!(node.value, YamlValue::List(_)) => {
            problem.help("write each command on its own line after `run: |`")
        }
        ("pipeline", _) => problem.help("begin with `steps:` and the steps below it"),
        _ => problem,
    }
}
