//! Renders what must be known when the plan is made, and tells in its place what cannot be.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::expr::{ExprError, Scope, Template};
use crate::problem::{Code, Problem};
use crate::spec::{Late, ReadPath, Setting, Shape, Text, expected};

/// What is known of one step or cell, and the problems found on the way.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) scope: Scope,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl<'a> Known<'a> {
    pub(super) fn new(params: &Value, problems: &'a mut Vec<Problem>) -> Self {
        Self { scope: Scope::default().with("params", params.clone()), problems }
    }

    /// The same, with the values of a cell.
    pub(super) fn with_cell(mut self, cell: Map<String, Value>) -> Self {
        self.scope = self.scope.with("matrix", Value::Object(cell));
        self
    }

    pub(super) fn text(&mut self, text: &Text) -> Option<String> {
        if let Some(literal) = text.template.is_literal() {
            return Some(literal.to_owned());
        }
        let rendered = text.template.render(&self.scope);
        self.told(rendered, &text.span, &text.reads)
    }

    /// A setting, read from what it renders to if it was not known before.
    pub(super) fn setting<T: Clone>(
        &mut self,
        setting: Option<&Setting<T>>,
        (key, shape): (&str, Shape),
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = match &setting?.value {
            Late::Known(value) => return Some(value.clone()),
            Late::Later(text) => text,
        };
        let rendered = self.text(text)?;
        let value = read(&rendered);
        if value.is_none() {
            let title =
                format!("`{key}` takes {}, and this comes out as `{rendered}`", expected(shape));
            self.problems.push(Problem::new(Code::WrongType, text.span.clone(), title));
        }
        value
    }

    /// The template with everything in place that reads only params.
    pub(super) fn fold(&mut self, text: &Text) -> Option<Template> {
        let folded = text.template.partially(&self.scope, &["params"]);
        self.told(folded, &text.span, &text.reads)
    }

    pub(super) fn told<T>(
        &mut self,
        result: Result<T, ExprError>,
        span: &Range<usize>,
        reads: &[ReadPath],
    ) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                let span = match reads {
                    [only] => only.span.clone(),
                    _ => span.clone(),
                };
                self.problems.push(crate::spec::expression_problem(error, span));
                None
            }
        }
    }
}
