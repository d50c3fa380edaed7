//! Renders what must be known when the plan is made, and tells in its place what cannot be.

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::expr::{ExprError, Scope, Template};
use crate::plan::PLAN_BYTES_MAX;
use crate::problem::{Code, Problem};
use crate::spec::{Late, ReadPath, Setting, Shape, Text, expected};

/// What is known of one step or cell, and the problems found on the way.
#[derive(Debug)]
pub(super) struct Known<'a> {
    pub(super) scope: Scope,
    pub(super) problems: &'a mut Vec<Problem>,
    /// Bytes that the plan may still grow by.
    left: &'a mut usize,
    /// Bytes that were rendered here, and how many may be.
    rendered: (usize, usize),
}

/// What is found and used up while a plan is made.
#[derive(Debug)]
pub(super) struct Making {
    pub(super) problems: Vec<Problem>,
    /// Bytes that the plan may still grow by.
    pub(super) left: usize,
}

impl Making {
    /// Takes bytes from those that the plan may have; `None`, and a problem the first time, if there are not so many.
    pub(super) fn take(&mut self, bytes: usize, span: &Range<usize>) -> Option<()> {
        spend(&mut self.left, bytes, span, &mut self.problems)
    }
}

impl<'a> Known<'a> {
    pub(super) fn new(params: &Arc<Value>, making: &'a mut Making) -> Self {
        let scope = Scope::default().with_shared("params", Arc::clone(params));
        let Making { problems, left } = making;
        Self { scope, problems, left, rendered: (0, usize::MAX) }
    }

    /// The same, with the values of a cell.
    pub(super) fn with_cell(mut self, cell: Map<String, Value>) -> Self {
        self.scope = self.scope.with("matrix", Value::Object(cell));
        self
    }

    /// The same, for texts that have so many bytes together.
    pub(super) const fn within(mut self, bytes: usize) -> Self {
        self.rendered = (0, bytes);
        self
    }

    /// Counts what was rendered. Once it is too much nothing more is: what came out last is all that was in vain.
    fn count(&mut self, bytes: usize, span: &Range<usize>) -> Option<()> {
        let (rendered, max) = self.rendered;
        self.rendered.0 = rendered.saturating_add(bytes);
        if self.rendered.0 > max {
            if rendered <= max {
                let title = format!("the step is longer than {max} bytes with its values in place");
                let problem = Problem::new(Code::PlanTooLarge, span.clone(), title);
                self.problems.push(problem.help("hand large values over in a file"));
            }
            return None;
        }
        spend(self.left, bytes, span, self.problems)
    }

    /// Whether nothing more is rendered.
    fn is_spent(&self) -> bool {
        self.rendered.0 > self.rendered.1 || *self.left == 0
    }

    pub(super) fn text(&mut self, text: &Text) -> Option<String> {
        if let Some(literal) = text.template.is_literal() {
            return Some(literal.to_owned());
        }
        if self.is_spent() {
            return None;
        }
        let rendered = text.template.render(&self.scope);
        let rendered = self.told(rendered, &text.span, &text.reads)?;
        self.count(rendered.len(), &text.span)?;
        Some(rendered)
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
            Problem::add(self.problems, Problem::new(Code::WrongType, text.span.clone(), title));
        }
        value
    }

    /// The template with everything in place that reads only params.
    pub(super) fn fold(&mut self, text: &Text) -> Option<Template> {
        if self.is_spent() {
            return None;
        }
        let folded = text.template.partially(&self.scope, &["params"]);
        let folded = self.told(folded, &text.span, &text.reads)?;
        self.count(folded.bytes(), &text.span)?;
        Some(folded)
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
                Problem::add(self.problems, crate::spec::expression_problem(error, span));
                None
            }
        }
    }
}

fn spend(
    left: &mut usize,
    bytes: usize,
    span: &Range<usize>,
    problems: &mut Vec<Problem>,
) -> Option<()> {
    if *left == 0 {
        return None;
    }
    if let Some(rest) = left.checked_sub(bytes).filter(|rest| *rest > 0) {
        *left = rest;
        return Some(());
    }
    *left = 0;
    let title = format!("with all values in place the plan takes more than {PLAN_BYTES_MAX} bytes");
    let problem = Problem::new(Code::PlanTooLarge, span.clone(), title);
    problems.push(problem.help("hand large values over in files, or make fewer cells"));
    None
}
