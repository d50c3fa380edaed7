//! Shared parts of all readers: strings, names and settings with their locations.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::expression_problem::{ERRORS_MAX, expression_around, expression_problem};
use crate::environment::is_own_setting;
use crate::expr::{ExprError, ExprPath, Expression, IfCondition, Template};
use crate::problem::{Problem, ProblemCode, SourceFile, SuggestedFix};
use crate::spec::declaration::{
    Spanned, SpannedCondition, SpannedPath, SpannedSetting, SpannedTemplate, TemplatedValue,
    VariableDecl,
};
use crate::spec::limits::{TEXT_BYTES_MAX, VALUES_MAX};
use crate::spec::names::is_name;
use crate::spec::yaml::{YamlKey, YamlNode};

/// Reads nodes and collects problems.
#[derive(Debug)]
pub(crate) struct PipelineReader<'a> {
    pub(super) source: &'a SourceFile,
    pub(super) problems: &'a mut Vec<Problem>,
    /// The shell of steps without `shell`.
    pub(super) default_shell: Option<Spanned<String>>,
}

impl<'a> PipelineReader<'a> {
    pub(crate) const fn new(source: &'a SourceFile, problems: &'a mut Vec<Problem>) -> Self {
        Self { source, problems, default_shell: None }
    }

    pub(super) fn report(&mut self, problem: Problem) {
        Problem::add(self.problems, problem);
    }

    /// Reports a string that is too long or contains too many values.
    pub(super) fn is_too_long(&mut self, node: &YamlNode<'_>) -> bool {
        let text = node.as_text().unwrap_or_default();
        let (bytes, values) = (text.len(), text.matches("${{").count());
        let title = if bytes > TEXT_BYTES_MAX {
            format!("a string can have at most {TEXT_BYTES_MAX} bytes; this one has {bytes}")
        } else if values > VALUES_MAX {
            format!("a string can have at most {VALUES_MAX} `${{{{ }}}}`; this one has {values}")
        } else {
            return false;
        };
        let problem = Problem::new(ProblemCode::PlanTooLarge, node.span.clone(), title);
        self.report(problem.help("put it into a file that the step reads"));
        true
    }

    pub(super) fn text(&mut self, node: &YamlNode<'_>) -> Option<SpannedTemplate> {
        if self.is_too_long(node) {
            return None;
        }
        let template = self.parsed_with_every_error(node, Template::parse)?;
        let reads = self.reads(node, template.paths());
        Some(SpannedTemplate { template, span: node.span.clone(), reads })
    }

    pub(super) fn texts(&mut self, node: Option<&YamlNode<'_>>) -> Vec<SpannedTemplate> {
        node.map(YamlNode::items_or_self)
            .unwrap_or_default()
            .iter()
            .filter_map(|item| self.text(item))
            .collect()
    }

    pub(super) fn condition(&mut self, node: &YamlNode<'_>) -> Option<SpannedCondition> {
        let text = node.as_text()?;
        let inner = self.without_braces(node, text);
        let parsed = IfCondition::parse(inner.as_deref().unwrap_or(text));
        let condition = self.parsed(node, parsed)?;
        let paths = condition.value.as_ref().map(Expression::paths).unwrap_or_default();
        let reads = self.reads(node, paths);
        Some(SpannedCondition { condition, span: node.span.clone(), reads })
    }

    /// Reports `if: ${{ x }}`, the form of other tools, but reads it. Spaces replace the braces, so that locations stay
    /// correct.
    fn without_braces(&mut self, node: &YamlNode<'_>, text: &str) -> Option<String> {
        let inner = text.trim().strip_prefix("${{")?.strip_suffix("}}")?;
        if inner.contains("${{") {
            return None;
        }
        let title = "`if` is already an expression: remove `${{` and `}}`";
        let fix = SuggestedFix::replace(self.source, &node.span, inner.trim());
        self.report(Problem::new(ProblemCode::Expression, node.span.clone(), title).fix(fix));
        Some(text.replacen("${{", "   ", 1).replacen("}}", "  ", 1))
    }

    /// Reads a setting: parsed now, or rendered and parsed when the plan is made.
    pub(super) fn setting<T>(
        &mut self,
        node: Option<&YamlNode<'_>>,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<SpannedSetting<T>> {
        let node = node?;
        let text = node.as_text()?;
        let value = if text.contains("${{") {
            TemplatedValue::Template(Box::new(self.text(node)?))
        } else {
            TemplatedValue::Literal(read(text)?)
        };
        Some(SpannedSetting { value, span: node.span.clone() })
    }

    /// Reads a list of user-defined names without duplicates.
    pub(super) fn names(&mut self, node: &YamlNode<'_>, what: &str) -> Vec<Spanned<String>> {
        let mut names: Vec<Spanned<String>> = Vec::new();
        let mut seen = BTreeMap::new();
        for item in node.items_or_self() {
            let Some(text) = item.as_text().filter(|text| is_name(text)) else { continue };
            if let Some(first) = seen.get(text).cloned() {
                self.report(duplicate_problem(
                    item.span.clone(),
                    first,
                    &format!("the {what} `{text}`"),
                ));
                continue;
            }
            seen.insert(text, item.span.clone());
            names.push(spanned(text, &item.span));
        }
        names
    }

    pub(super) fn values(&mut self, node: Option<&YamlNode<'_>>) -> Vec<VariableDecl> {
        let mut values = Vec::new();
        for entry in node.map(YamlNode::entries).unwrap_or_default() {
            if let Some(value) = self.text(&entry.value) {
                values.push(VariableDecl { name: key_name(&entry.key), value });
            }
        }
        values
    }

    pub(super) fn env(&mut self, node: Option<&YamlNode<'_>>) -> Vec<VariableDecl> {
        for entry in node.map(YamlNode::entries).unwrap_or_default() {
            if is_own_setting(&entry.key.text) {
                let title = format!("`{}` is set by windlass", entry.key.text);
                let problem =
                    Problem::new(ProblemCode::ReservedName, entry.key.span.clone(), title);
                self.report(problem.help("choose a name that does not begin with `WINDLASS_`"));
            }
        }
        self.values(node)
    }

    /// Returns the value, or reports the error at its location.
    pub(super) fn parsed<T>(
        &mut self,
        node: &YamlNode<'_>,
        result: Result<T, ExprError>,
    ) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                let span = node.locate(self.source.text(), &error.range);
                let fix = self.fix_in_expression(node, &error, &span);
                self.report(expression_problem(error, span).fix(fix));
                None
            }
        }
    }

    /// Returns the value, or reports the errors of every `${{ }}`: an invalid one is replaced, and parsing starts again.
    pub(super) fn parsed_with_every_error<T>(
        &mut self,
        node: &YamlNode<'_>,
        parse: impl Fn(&str) -> Result<T, ExprError>,
    ) -> Option<T> {
        let mut text = Cow::Borrowed(node.as_text()?);
        for _ in 0..ERRORS_MAX {
            let error = match parse(&text) {
                Ok(value) => return Some(value),
                Err(error) => error,
            };
            let hole = expression_around(&text, error.range.start);
            self.parsed::<T>(node, Err(error));
            let hole = hole?;
            let cover = "x".repeat(hole.len());
            text.to_mut().replace_range(hole, &cover);
        }
        None
    }

    /// Builds a fix from a help of the form "write `code`": the code replaces the wrong bytes.
    fn fix_in_expression(
        &self,
        node: &YamlNode<'_>,
        error: &ExprError,
        span: &Range<usize>,
    ) -> Option<SuggestedFix> {
        let right = error.help.as_deref()?.strip_prefix("write `")?.strip_suffix('`')?;
        let text = self.source.text();
        let wrong = node.as_text()?.get(error.range.clone()).filter(|wrong| !wrong.is_empty())?;
        if text.get(span.clone()) != Some(wrong) {
            return None;
        }
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let touches = right.ends_with(word) && text[span.end..].starts_with(word);
        let right = if touches { format!("{right} ") } else { right.to_owned() };
        SuggestedFix::replace(self.source, span, &right)
    }

    pub(super) fn reads(&self, node: &YamlNode<'_>, paths: Vec<ExprPath>) -> Vec<SpannedPath> {
        let place = |read: ExprPath| SpannedPath {
            span: node.locate(self.source.text(), &read.range),
            path: read.path,
        };
        paths.into_iter().map(place).collect()
    }
}

pub(super) fn duplicate_problem(second: Range<usize>, first: Range<usize>, what: &str) -> Problem {
    Problem::new(ProblemCode::Twice, second, format!("{what} is listed twice"))
        .label("second")
        .also(first, "first")
        .help("keep one of them")
}

pub(super) fn spanned(text: &str, span: &Range<usize>) -> Spanned<String> {
    Spanned { value: text.to_owned(), span: span.clone() }
}

pub(super) fn key_name(key: &YamlKey<'_>) -> Spanned<String> {
    spanned(&key.text, &key.span)
}
