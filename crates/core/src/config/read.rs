//! Reads a file against the sections that there are.

use super::given::Given;
use super::sections::{Section, Takes};
use crate::problem::{Code, Fix, Problem, SOURCE_MAX, Source};
use crate::spec::nearest;
use crate::spec::tree::{Entry, Key, Mended, Node, Value, build};

/// What the file sets, and everything that is wrong with it, in the order of the file.
pub fn read(source: &Source, sections: &[Section]) -> (Vec<Given>, Vec<Problem>) {
    if source.text().len() > SOURCE_MAX {
        let title = format!("the file is longer than {SOURCE_MAX} bytes");
        return (Vec::new(), vec![Problem::new(Code::TooLarge, 0..0, title)]);
    }
    let mut reader = Reader { source, sections, given: Vec::new(), problems: Vec::new() };
    match build(source, &mut reader.problems) {
        Ok(root) => root.iter().for_each(|root| reader.file(root)),
        Err(_) => reader.problems = Mended::new(source).problems().to_vec(),
    }
    let Reader { given, mut problems, .. } = reader;
    for problem in &mut problems {
        problem.settle_within(source.text());
    }
    Problem::sort(&mut problems);
    (given, problems)
}

struct Reader<'a> {
    source: &'a Source,
    sections: &'a [Section],
    given: Vec<Given>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn file(&mut self, root: &Node<'_>) {
        let Some(entries) = self.map(root, "the file") else { return };
        for entry in entries {
            let section = self.sections.iter().find(|section| section.name == *entry.key.text);
            let Some(section) = section else {
                let problem = self.unknown_section(&entry.key);
                self.problems.push(problem);
                continue;
            };
            self.section(section, &entry.value);
        }
    }

    fn section(&mut self, section: &Section, node: &Node<'_>) {
        let Some(entries) = self.map(node, &format!("`{}`", section.name)) else { return };
        for entry in entries {
            let Some(setting) = section.setting(&entry.key.text) else {
                let problem = self.unknown_setting(section, &entry.key);
                self.problems.push(problem);
                continue;
            };
            self.setting(section, setting.takes, entry);
        }
    }

    fn setting(&mut self, section: &Section, takes: Takes, entry: &Entry<'_>) {
        let (name, node) = (&*entry.key.text, &entry.value);
        match values(node, takes) {
            Ok(values) => self.given.push(Given {
                section: section.name.clone(),
                setting: name.to_owned(),
                values,
                span: node.span.clone(),
            }),
            Err(Unfit::Told) => {}
            Err(Unfit::Nothing) => {
                let title = format!("`{name}` has no value");
                let problem = Problem::new(Code::Empty, entry.key.span.clone(), title);
                self.problems.push(problem.help("leave it out to have its default"));
            }
            Err(Unfit::Kind(wanted)) => {
                let title = format!("`{name}` takes {wanted}, and this is {}", node.kind());
                self.problems.push(Problem::new(Code::WrongType, node.span.clone(), title));
            }
        }
    }

    /// The entries of a map, without those that are the user's own. Nothing at all is an empty map.
    fn map<'n>(&mut self, node: &'n Node<'_>, what: &str) -> Option<Vec<&'n Entry<'n>>> {
        match &node.value {
            Value::Map(entries) => {
                Some(entries.iter().filter(|entry| !entry.key.text.starts_with("x-")).collect())
            }
            Value::Null | Value::Broken => None,
            Value::Scalar(_) | Value::List(_) => {
                let title = format!("{what} is a map of keys, and this is {}", node.kind());
                self.problems.push(Problem::new(Code::WrongType, node.span.clone(), title));
                None
            }
        }
    }

    fn unknown_section(&self, key: &Key<'_>) -> Problem {
        let text = &*key.text;
        let title = format!("`{text}` is no section of the settings");
        let names = self.sections.iter().map(|section| &*section.name);
        let problem = self.instead(key, title, nearest(text, names.clone()));
        if problem.fix.is_some() {
            return problem;
        }
        let owners = self.owners(text);
        problem.help(if owners.is_empty() {
            format!("the sections are {}", quoted(names))
        } else {
            format!("it is a setting: put it below {}", quoted(owners.into_iter()))
        })
    }

    fn unknown_setting(&self, section: &Section, key: &Key<'_>) -> Problem {
        let text = &*key.text;
        let title = format!("`{text}` is no setting of `{}`", section.name);
        let names = section.settings.iter().map(|setting| &*setting.name);
        let owners = self.owners(text);
        if !owners.is_empty() {
            let help = format!("it is a setting of {}", quoted(owners.into_iter()));
            return Problem::new(Code::UnknownKey, key.span.clone(), title).help(help);
        }
        let problem = self.instead(key, title, nearest(text, names.clone()));
        if problem.fix.is_some() {
            return problem;
        }
        problem.help(format!("`{}` has {}", section.name, quoted(names)))
    }

    fn instead(&self, key: &Key<'_>, title: String, near: Option<&str>) -> Problem {
        let problem = Problem::new(Code::UnknownKey, key.span.clone(), title);
        match near {
            Some(near) => problem.label(format!("did you mean `{near}`?")).fix(Fix::replace(
                self.source,
                &key.span,
                near,
            )),
            None => problem,
        }
    }

    /// The sections that have a setting of this name.
    fn owners(&self, setting: &str) -> Vec<&str> {
        let has = |section: &&Section| section.setting(setting).is_some();
        self.sections.iter().filter(has).map(|section| &*section.name).collect()
    }
}

/// Why a value does not fit.
enum Unfit {
    Nothing,
    Kind(&'static str),
    /// It is broken, and that was said.
    Told,
}

fn values(node: &Node<'_>, takes: Takes) -> Result<Vec<String>, Unfit> {
    match (&node.value, takes) {
        (Value::Broken, _) => Err(Unfit::Told),
        (Value::Null, _) => Err(Unfit::Nothing),
        (Value::Scalar(scalar), Takes::Switch) => {
            let on = scalar.as_flag().ok_or(Unfit::Kind("`true` or `false`"))?;
            Ok(vec![on.to_string()])
        }
        (Value::Scalar(scalar), Takes::One | Takes::Many) => Ok(vec![scalar.text.to_string()]),
        (Value::List(items), Takes::Many) => {
            let text = |item: &Node<'_>| item.as_text().map(str::to_owned);
            items.iter().map(text).collect::<Option<_>>().ok_or(Unfit::Kind("a list of texts"))
        }
        (Value::List(_) | Value::Map(_), Takes::Switch) => Err(Unfit::Kind("`true` or `false`")),
        (Value::List(_) | Value::Map(_), Takes::One) => Err(Unfit::Kind("one value")),
        (Value::Map(_), Takes::Many) => Err(Unfit::Kind("a value or a list of them")),
    }
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
