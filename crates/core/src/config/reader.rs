//! Reads a settings file with the known sections.

use super::assignment::ConfigAssignment;
use super::schema::{ConfigSection, ConfigValueKind};
use crate::problem::{Problem, ProblemCode, SOURCE_MAX, SourceFile, SuggestedFix};
use crate::spec::nearest_name;
use crate::spec::yaml::{RepairedSource, YamlEntry, YamlKey, YamlNode, YamlValue, build_yaml_tree};

/// Returns the settings of the file and all problems, in file order.
pub fn read_config(
    source: &SourceFile,
    sections: &[ConfigSection],
) -> (Vec<ConfigAssignment>, Vec<Problem>) {
    if source.text().len() > SOURCE_MAX {
        let title = format!("the file has more than {SOURCE_MAX} bytes");
        return (Vec::new(), vec![Problem::new(ProblemCode::TooLarge, 0..0, title)]);
    }
    let mut reader = ConfigReader { source, sections, given: Vec::new(), problems: Vec::new() };
    match build_yaml_tree(source, &mut reader.problems) {
        Ok(root) => root.iter().for_each(|root| reader.file(root)),
        Err(_) => reader.problems = RepairedSource::new(source).problems().to_vec(),
    }
    let ConfigReader { given, mut problems, .. } = reader;
    for problem in &mut problems {
        problem.clamp_spans(source.text());
    }
    Problem::sort(&mut problems);
    (given, problems)
}

struct ConfigReader<'a> {
    source: &'a SourceFile,
    sections: &'a [ConfigSection],
    given: Vec<ConfigAssignment>,
    problems: Vec<Problem>,
}

impl ConfigReader<'_> {
    fn file(&mut self, root: &YamlNode<'_>) {
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

    fn section(&mut self, section: &ConfigSection, node: &YamlNode<'_>) {
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

    fn setting(&mut self, section: &ConfigSection, takes: ConfigValueKind, entry: &YamlEntry<'_>) {
        let (name, node) = (&*entry.key.text, &entry.value);
        match values(node, takes) {
            Ok(values) => self.given.push(ConfigAssignment {
                section: section.name.clone(),
                setting: name.to_owned(),
                values,
                span: node.span.clone(),
            }),
            Err(ConfigValueError::AlreadyReported) => {}
            Err(ConfigValueError::Nothing) => {
                let title = format!("`{name}` has no value");
                let problem = Problem::new(ProblemCode::Empty, entry.key.span.clone(), title);
                self.problems.push(problem.help("remove it to use the default"));
            }
            Err(ConfigValueError::Kind(wanted)) => {
                let title = format!("`{name}` takes {wanted}, but this is {}", node.kind());
                self.problems.push(Problem::new(ProblemCode::WrongType, node.span.clone(), title));
            }
        }
    }

    /// Returns the entries of a map without `x-` keys. A missing value is an empty map.
    fn map<'n>(&mut self, node: &'n YamlNode<'_>, what: &str) -> Option<Vec<&'n YamlEntry<'n>>> {
        match &node.value {
            YamlValue::Map(entries) => {
                Some(entries.iter().filter(|entry| !entry.key.text.starts_with("x-")).collect())
            }
            YamlValue::Null | YamlValue::Broken => None,
            YamlValue::Scalar(_) | YamlValue::List(_) => {
                let title = format!("{what} is a map, but this is {}", node.kind());
                self.problems.push(Problem::new(ProblemCode::WrongType, node.span.clone(), title));
                None
            }
        }
    }

    fn unknown_section(&self, key: &YamlKey<'_>) -> Problem {
        let text = &*key.text;
        let title = format!("unknown section `{text}`");
        let names = self.sections.iter().map(|section| &*section.name);
        let problem = self.instead(key, title, nearest_name(text, names.clone()));
        if problem.fix.is_some() {
            return problem;
        }
        let owners = self.owners(text);
        problem.help(if owners.is_empty() {
            format!("the sections are {}", quoted(names))
        } else {
            format!("it is a setting: move it under {}", quoted(owners.into_iter()))
        })
    }

    fn unknown_setting(&self, section: &ConfigSection, key: &YamlKey<'_>) -> Problem {
        let text = &*key.text;
        let title = format!("unknown setting `{text}` in `{}`", section.name);
        let names = section.settings.iter().map(|setting| &*setting.name);
        let owners = self.owners(text);
        if !owners.is_empty() {
            let help = format!("it is a setting of {}", quoted(owners.into_iter()));
            return Problem::new(ProblemCode::UnknownKey, key.span.clone(), title).help(help);
        }
        let problem = self.instead(key, title, nearest_name(text, names.clone()));
        if problem.fix.is_some() {
            return problem;
        }
        problem.help(format!("the settings of `{}` are {}", section.name, quoted(names)))
    }

    fn instead(&self, key: &YamlKey<'_>, title: String, near: Option<&str>) -> Problem {
        let problem = Problem::new(ProblemCode::UnknownKey, key.span.clone(), title);
        match near {
            Some(near) => problem
                .label(format!("did you mean `{near}`?"))
                .fix(SuggestedFix::replace(self.source, &key.span, near)),
            None => problem,
        }
    }

    /// Returns the sections with a setting of this name.
    fn owners(&self, setting: &str) -> Vec<&str> {
        let has = |section: &&ConfigSection| section.setting(setting).is_some();
        self.sections.iter().filter(has).map(|section| &*section.name).collect()
    }
}

/// Why a value is invalid.
enum ConfigValueError {
    Nothing,
    Kind(&'static str),
    /// The value is broken, and a problem is already reported.
    AlreadyReported,
}

fn values(node: &YamlNode<'_>, takes: ConfigValueKind) -> Result<Vec<String>, ConfigValueError> {
    match (&node.value, takes) {
        (YamlValue::Broken, _) => Err(ConfigValueError::AlreadyReported),
        (YamlValue::Null, _) => Err(ConfigValueError::Nothing),
        (YamlValue::Scalar(scalar), ConfigValueKind::Switch) => {
            let on = scalar.as_flag().ok_or(ConfigValueError::Kind("`true` or `false`"))?;
            Ok(vec![on.to_string()])
        }
        (YamlValue::Scalar(scalar), ConfigValueKind::One | ConfigValueKind::Many) => {
            Ok(vec![scalar.text.to_string()])
        }
        (YamlValue::List(items), ConfigValueKind::Many) => {
            let text = |item: &YamlNode<'_>| item.as_text().map(str::to_owned);
            items
                .iter()
                .map(text)
                .collect::<Option<_>>()
                .ok_or(ConfigValueError::Kind("a list of strings"))
        }
        (YamlValue::List(_) | YamlValue::Map(_), ConfigValueKind::Switch) => {
            Err(ConfigValueError::Kind("`true` or `false`"))
        }
        (YamlValue::List(_) | YamlValue::Map(_), ConfigValueKind::One) => {
            Err(ConfigValueError::Kind("one value"))
        }
        (YamlValue::Map(_), ConfigValueKind::Many) => {
            Err(ConfigValueError::Kind("a value or a list of them"))
        }
    }
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
