//! Reads params: the values that can be given when a run begins.

use super::reader::{PipelineReader, key_name, spanned};
use super::settings::flag;
use crate::problem::{Problem, ProblemCode};
use crate::spec::declaration::{ParamDecl, ParamKind, Spanned};
use crate::spec::limits::PARAM_BYTES_MAX;
use crate::spec::yaml::{YamlEntry, YamlNode, YamlScalar, YamlValue};

impl PipelineReader<'_> {
    pub(super) fn params(&mut self, node: Option<&YamlNode<'_>>) -> Vec<ParamDecl> {
        let entries = node.map(YamlNode::entries).unwrap_or_default();
        entries.iter().map(|entry| self.param(entry)).collect()
    }

    fn param(&mut self, entry: &YamlEntry<'_>) -> ParamDecl {
        let node = &entry.value;
        let (default, choices) = match &node.value {
            YamlValue::Scalar(_) => (Some(node), &[][..]),
            YamlValue::Null | YamlValue::List(_) | YamlValue::Map(_) | YamlValue::Broken => (
                node.get("default"),
                node.get("choose").map(YamlNode::items_or_self).unwrap_or_default(),
            ),
        };
        let kind = param_kind(node.get("type"), default, choices);
        let required = flag(node.get("required"));
        let param = ParamDecl {
            required: required.unwrap_or(default.is_none()),
            name: key_name(&entry.key),
            about: node.get("about").and_then(YamlNode::as_text).map(str::to_owned),
            kind,
            default: default.and_then(plain),
            choices: choices.iter().filter_map(plain).collect(),
        };
        self.check_param(node, &param);
        param
    }

    fn check_param(&mut self, node: &YamlNode<'_>, param: &ParamDecl) {
        let name = &param.name.value;
        for value in param.choices.iter().chain(&param.default) {
            if !param.kind.accepts(&value.value) {
                let title = format!(
                    "`{}` is not a {}, but the param `{name}` is one",
                    value.value,
                    param.kind.word()
                );
                self.report(Problem::new(ProblemCode::ParamType, value.span.clone(), title));
            }
            if value.value.len() > PARAM_BYTES_MAX {
                let title = format!(
                    "the value of a param can have at most {PARAM_BYTES_MAX} bytes; this one has {}",
                    value.value.len()
                );
                let problem = Problem::new(ProblemCode::PlanTooLarge, value.span.clone(), title);
                self.report(problem.help("put it into a file, and pass the path of the file"));
            }
            if value.value.contains("${{") {
                let title = "the value of a param cannot contain `${{ }}`";
                self.report(Problem::new(ProblemCode::TooLate, value.span.clone(), title));
            }
        }
        if let Some(default) = &param.default
            && !param.choices.is_empty()
            && !param.choices.iter().any(|choice| choice.value == default.value)
        {
            let title =
                format!("the default `{}` is not one of the choices of `{name}`", default.value);
            self.report(Problem::new(ProblemCode::ParamChoice, default.span.clone(), title));
        }
        if let (Some(true), Some(default)) = (flag(node.get("required")), &param.default) {
            let title = format!("`{name}` is required and has a default");
            let problem = Problem::new(ProblemCode::Conflict, default.span.clone(), title);
            self.report(
                problem.help("a param with a default is optional: remove one of the two keys"),
            );
        }
    }
}

/// Returns the declared type, or the type of its default and choices.
fn param_kind(
    written: Option<&YamlNode<'_>>,
    default: Option<&YamlNode<'_>>,
    choices: &[YamlNode<'_>],
) -> ParamKind {
    if let Some(kind) = written.and_then(YamlNode::as_text).and_then(ParamKind::parse) {
        return kind;
    }
    let examples: Vec<&YamlScalar<'_>> =
        default.into_iter().chain(choices).filter_map(YamlNode::as_scalar).collect();
    if examples.is_empty() {
        ParamKind::String
    } else if examples.iter().all(|scalar| scalar.looks_like_number()) {
        ParamKind::Number
    } else if examples.iter().all(|scalar| scalar.as_flag().is_some()) {
        ParamKind::Boolean
    } else {
        ParamKind::String
    }
}

fn plain(node: &YamlNode<'_>) -> Option<Spanned<String>> {
    node.as_text().map(|text| spanned(text, &node.span))
}

impl ParamKind {
    fn parse(word: &str) -> Option<Self> {
        [Self::String, Self::Number, Self::Boolean].into_iter().find(|kind| kind.word() == word)
    }

    /// The name in the file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }

    /// Converts a given string to a value of this type, if it is one.
    pub fn value(self, text: &str) -> Option<serde_json::Value> {
        match self {
            Self::String => Some(text.into()),
            Self::Number => {
                let number: serde_json::Number = serde_json::from_str(text).ok()?;
                Some(serde_json::Value::Number(number))
            }
            Self::Boolean => text.parse::<bool>().ok().map(Into::into),
        }
    }

    /// Whether the string is a value of this type.
    pub fn accepts(self, text: &str) -> bool {
        self.value(text).is_some()
    }
}
