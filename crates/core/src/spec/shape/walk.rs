//! The walk over the tree, table in hand.

use super::scalar::{expected, scalar_problem};
use super::{commands, slips, unknown};
use crate::problem::{Code, Fix, PROBLEMS_MAX, Problem, Severity, Source};
use crate::spec::keys::{Available, Key, Object, PARAM, STEP, Shape};
use crate::spec::limits::AXES_MAX;
use crate::spec::names::{is_name, is_reserved, name_like};
use crate::spec::tree::{Entry, Node, Value};

/// Where values go whose problems do not matter.
pub(super) type Problems = Vec<Problem>;

/// Walks a tree and tells what does not look like the tables say.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    source: &'a Source,
    not_available: Severity,
    problems: &'a mut Problems,
}

impl<'a> Walk<'a> {
    pub(crate) const fn new(
        source: &'a Source,
        not_available: Severity,
        problems: &'a mut Problems,
    ) -> Self {
        Self { source, not_available, problems }
    }

    fn tell(&mut self, problem: Problem) {
        Problem::add(self.problems, problem);
    }

    fn tell_all(&mut self, problems: impl IntoIterator<Item = Problem>) {
        for problem in problems {
            self.tell(problem);
        }
    }

    /// Tells that a list or map has more entries than it may. Its entries are not looked at then.
    fn is_too_long(&mut self, node: &Node<'_>, what: &str, most: usize) -> bool {
        let count = match &node.value {
            Value::List(items) => items.len(),
            Value::Map(entries) => entries.len(),
            Value::Null | Value::Scalar(_) | Value::Broken => return false,
        };
        if count <= most {
            return false;
        }
        let title = format!("{what} may have at most {most} entries; this one has {count}");
        self.tell(Problem::new(Code::PlanTooLarge, first_line(self.source, node), title));
        true
    }

    /// A map with known keys.
    pub(crate) fn object(&mut self, node: &Node<'_>, object: &'static Object) {
        let Value::Map(entries) = &node.value else {
            self.tell(not_an_object(node, object));
            return;
        };
        let own = |entry: &&Entry<'_>| object.key(&entry.key.text).is_none();
        let axes = entries.iter().filter(own).count();
        if object.rest.is_some() && axes > AXES_MAX {
            let one = object.one();
            let title = format!("{one} may have at most {AXES_MAX} axes; this one has {axes}");
            self.tell(Problem::new(Code::PlanTooLarge, first_line(self.source, node), title));
            return;
        }
        let swallowed = slips::swallowed(self.source, entries, self.problems);
        for (at, entry) in entries.iter().enumerate() {
            if entry.key.text.starts_with("x-") || swallowed.contains(&at) {
                continue;
            }
            match (object.key(&entry.key.text), object.rest) {
                (Some(key), _) => self.entry(key, entry),
                (None, Some(_)) if unknown::is_no_axis(object, entry) => {
                    self.unknown(object, entry);
                }
                (None, Some(rest)) => {
                    self.own_name(entry, rest);
                    self.value(&entry.value, rest, &entry.key.text);
                }
                (None, None) => self.unknown(object, entry),
            }
        }
    }

    fn entry(&mut self, key: &'static Key, entry: &Entry<'_>) {
        if key.available == Available::NotYet {
            let title = format!("`{}` is not available yet", key.name);
            let problem = Problem::new(Code::NotAvailable, entry.key.span.clone(), title)
                .label("this version knows the key and cannot execute it")
                .severity(self.not_available);
            self.tell(problem);
        }
        if !self.is_too_long(&entry.value, &format!("`{}`", key.name), key.most) {
            self.value(&entry.value, key.shape, key.name);
        }
    }

    fn unknown(&mut self, object: &'static Object, entry: &Entry<'_>) {
        let (source, not_available) = (self.source, self.not_available);
        let renamed = |key: &'static Key| {
            let mut problems = Vec::new();
            let mut walk = Walk::new(source, not_available, &mut problems);
            walk.value(&entry.value, key.shape, key.name);
            problems
        };
        // What is wrong below a map under another tool's word is told with it.
        let below = |key: &'static Key| {
            let holds_map = matches!(key.shape, Shape::Map(_) | Shape::Object(_));
            holds_map && matches!(entry.value.value, Value::Map(_))
        };
        let is_error = |problem: &Problem| problem.severity == Severity::Error;
        let fits = |key: &'static Key| below(key) || !renamed(key).iter().any(is_error);
        let problem = unknown::key(self.source, object, entry, fits);
        self.tell(problem);
        if let Some(key) = object.by_foreign(&entry.key.text).filter(|key| below(key)) {
            self.tell_all(renamed(key));
        }
    }

    /// Whatever stands behind a key or in a list.
    fn value(&mut self, node: &Node<'_>, shape: Shape, key: &str) {
        if self.problems.len() >= PROBLEMS_MAX {
            return;
        }
        match (&node.value, shape) {
            (Value::Broken, _) | (_, Shape::Anything) => {}
            (Value::Null, _) => self.nothing(node, shape, key),
            (Value::List(items), Shape::List(item) | Shape::Many(item)) => {
                self.items(node, items, *item, key);
            }
            (Value::Map(_), Shape::Many(Shape::Name | Shape::Text | Shape::Requirement)) => {
                self.wrong(node, shape, key);
            }
            (_, Shape::Many(item)) => self.one(node, *item, key),
            (Value::Map(entries), Shape::Map(item)) => self.map(entries, *item),
            (Value::Map(_), Shape::Grows(_, object)) | (_, Shape::Object(object)) => {
                self.object(node, object);
            }
            (_, Shape::Grows(short, _)) => self.value(node, *short, key),
            (Value::Scalar(_), Shape::Map(_) | Shape::List(_))
            | (Value::List(_) | Value::Map(_), _) => self.wrong(node, shape, key),
            (Value::Scalar(scalar), _) => {
                self.tell_all(slips::hash(self.source, node, shape));
                self.tell_all(commands::joined(self.source, node, shape));
                self.tell_all(slips::lone_braces(self.source, node, shape));
                self.tell_all(scalar_problem(self.source, node, scalar, shape, key));
            }
        }
    }

    fn one(&mut self, node: &Node<'_>, item: Shape, key: &str) {
        match slips::comma_list(self.source, node, item, key) {
            Some(problem) => self.tell(problem),
            None => self.value(node, item, key),
        }
    }

    fn items(&mut self, list: &Node<'_>, items: &[Node<'_>], item: Shape, key: &str) {
        if items.is_empty() && !matches!(item, Shape::Text | Shape::Requirement) {
            let title = format!("`{key}` is an empty list");
            self.tell(
                Problem::new(Code::Empty, list.span.clone(), title).help("leave the key out"),
            );
        }
        for node in items {
            self.value(node, item, key);
        }
    }

    fn map(&mut self, entries: &[Entry<'_>], item: Shape) {
        let swallowed = slips::swallowed(self.source, entries, self.problems);
        for (at, entry) in entries.iter().enumerate() {
            if swallowed.contains(&at) {
                continue;
            }
            self.own_name(entry, item);
            self.value(&entry.value, item, &entry.key.text);
        }
    }

    /// A key of the user's own. No expression reads locks (numbers) and variables (texts) as a path.
    fn own_name(&mut self, entry: &Entry<'_>, of: Shape) {
        let (text, span) = (&*entry.key.text, entry.key.span.clone());
        if matches!(of, Shape::Number(..)) {
            return;
        }
        if !is_name(text) {
            let problem = Problem::new(Code::BadName, span, format!("`{text}` is no name"));
            let like = name_like(text);
            let fix = is_name(&like).then(|| Fix::replace(self.source, &entry.key.span, &like));
            let help =
                "names are made of letters, digits, `_` and `-`, and begin with a letter or `_`";
            self.tell(problem.help(help).fix(fix.flatten()));
        } else if is_reserved(text) && !matches!(of, Shape::Text) {
            let title = format!("`{text}` is a word of the expression language");
            let problem = Problem::new(Code::ReservedName, span, title);
            self.tell(problem.help("an expression could not name it: choose another name"));
        }
    }

    fn nothing(&mut self, node: &Node<'_>, shape: Shape, key: &str) {
        // A step without anything is told as such; a param without anything must be given.
        if matches!(shape, Shape::Object(object) if object.name == STEP.name)
            || matches!(shape, Shape::Grows(_, object) if object.name == PARAM.name)
        {
            return;
        }
        let title = format!("`{key}` has no value");
        let problem = Problem::new(Code::Empty, node.span.clone(), title);
        let help = if matches!(shape, Shape::Text) {
            "write `\"\"` for an empty text, or leave the key out".to_owned()
        } else {
            format!("it takes {}; leave the key out if there is none", expected(shape))
        };
        self.tell(problem.help(help));
    }

    fn wrong(&mut self, node: &Node<'_>, shape: Shape, key: &str) {
        let title = format!("`{key}` takes {}, and this is {}", expected(shape), node.kind());
        let span = first_line(self.source, node);
        let problem = Problem::new(Code::WrongType, span, title);
        self.tell(match (shape, &node.value) {
            (Shape::Script, Value::List(_)) => problem
                .help("write several commands on lines of their own behind `run: |`")
                .fix(commands::one_a_line(self.source, key, node)),
            (Shape::List(_), Value::Scalar(scalar)) => {
                problem.fix(Fix::replace(self.source, &node.span, &format!("[{}]", scalar.text)))
            }
            (Shape::Many(Shape::Name), Value::Map(entries)) => {
                let names: Vec<&str> = entries.iter().map(|entry| &*entry.key.text).collect();
                problem.help(format!("list the names: `{key}: [{}]`", names.join(", ")))
            }
            (Shape::Map(_), Value::List(items)) => match named(key, items) {
                Some(help) => problem.help(help),
                None => problem,
            },
            _ => problem,
        });
    }
}

/// How a list of things with names is written as a map.
fn named(key: &str, items: &[Node<'_>]) -> Option<String> {
    let first = items.first()?;
    let name = first.get("name").and_then(Node::as_text);
    match key {
        "steps" => Some(
            "each step has a name: write `steps:` and below it `build: { run: make }`".to_owned(),
        ),
        "env" => {
            let pair = first.as_text().and_then(|text| text.split_once('='));
            let (name, value) = pair.unwrap_or((name.unwrap_or("NAME"), "value"));
            Some(format!("write names and values: `env: {{ {name}: {value} }}`"))
        }
        "params" => {
            let name = name.or_else(|| first.as_text()).unwrap_or("NAME");
            Some(format!("each param has a name: `params: {{ {name}: {{ default: … }} }}`"))
        }
        _ => None,
    }
}

fn first_line(source: &Source, node: &Node<'_>) -> std::ops::Range<usize> {
    node.span.start..node.span.end.min(source.line_around(node.span.start).end.max(node.span.start))
}

fn not_an_object(node: &Node<'_>, object: &Object) -> Problem {
    let name = object.name;
    let problem = Problem::new(
        Code::WrongType,
        node.span.clone(),
        format!("{} is a map of keys, and this is {}", object.one(), node.kind()),
    );
    match (name, node.as_text()) {
        ("step", Some(text)) if !text.contains('\n') => {
            problem.help(format!("write `{{ run: {} }}`", crate::spec::tree::quoted(text)))
        }
        ("step", None) if matches!(node.value, Value::List(_)) => {
            problem.help("write the commands on lines of their own behind `run: |`")
        }
        ("pipeline", _) => problem.help("begin with `steps:` and the steps below it"),
        _ => problem,
    }
}
