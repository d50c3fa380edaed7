//! Renders values that must be known when the plan is made, and reports errors at their locations.

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::expr::{ExprError, ExprScope, Template};
use crate::plan::PLAN_BYTES_MAX;
use crate::problem::{Problem, ProblemCode};
use crate::spec::{
    SpannedPath, SpannedSetting, SpannedTemplate, TemplatedValue, ValueShape, expected_phrase,
};

/// The known values of one step or cell, and the problems found.
#[derive(Debug)]
pub(super) struct PlanTimeRenderer<'a> {
    pub(super) scope: ExprScope,
    pub(super) problems: &'a mut Vec<Problem>,
    /// Remaining bytes of the plan.
    plan_bytes_left: &'a mut usize,
    /// Rendered bytes, and their maximum.
    rendered: (usize, usize),
}

/// The problems and the remaining bytes while a plan is made.
#[derive(Debug)]
pub(super) struct ExpansionBudget {
    pub(super) problems: Vec<Problem>,
    /// Remaining bytes of the plan.
    pub(super) plan_bytes_left: usize,
}

impl ExpansionBudget {
    /// Takes bytes from the budget. Returns `None` if it is exceeded, and reports a problem the first time.
    pub(super) fn take(&mut self, bytes: usize, span: &Range<usize>) -> Option<()> {
        spend(&mut self.plan_bytes_left, bytes, span, &mut self.problems)
    }
}

impl<'a> PlanTimeRenderer<'a> {
    pub(super) fn new(params: &Arc<Value>, making: &'a mut ExpansionBudget) -> Self {
        let scope = ExprScope::default().with_shared("params", Arc::clone(params));
        let ExpansionBudget { problems, plan_bytes_left } = making;
        Self { scope, problems, plan_bytes_left, rendered: (0, usize::MAX) }
    }

    /// Adds the values of a cell.
    pub(super) fn with_cell(mut self, cell: Map<String, Value>) -> Self {
        self.scope = self.scope.with("matrix", Value::Object(cell));
        self
    }

    /// Limits the total bytes of rendered strings.
    pub(super) const fn with_text_bytes(mut self, bytes: usize) -> Self {
        self.rendered = (0, bytes);
        self
    }

    /// Counts rendered bytes. After the limit is exceeded, nothing more is rendered.
    fn count(&mut self, bytes: usize, span: &Range<usize>) -> Option<()> {
        let (rendered, max) = self.rendered;
        self.rendered.0 = rendered.saturating_add(bytes);
        if self.rendered.0 > max {
            if rendered <= max {
                let title = format!("the step has more than {max} bytes with its values in place");
                let problem = Problem::new(ProblemCode::PlanTooLarge, span.clone(), title);
                self.problems.push(problem.help("pass large values in a file"));
            }
            return None;
        }
        spend(self.plan_bytes_left, bytes, span, self.problems)
    }

    /// Whether the limit is exceeded.
    fn is_spent(&self) -> bool {
        self.rendered.0 > self.rendered.1 || *self.plan_bytes_left == 0
    }

    pub(super) fn text(&mut self, text: &SpannedTemplate) -> Option<String> {
        if let Some(literal) = text.template.is_literal() {
            return Some(literal.to_owned());
        }
        if self.is_spent() {
            return None;
        }
        let rendered = text.template.render(&self.scope);
        let rendered = self.value_or_report(rendered, &text.span, &text.reads)?;
        self.count(rendered.len(), &text.span)?;
        Some(rendered)
    }

    /// Returns a setting; renders and parses it if it is a template.
    pub(super) fn setting<T: Clone>(
        &mut self,
        setting: Option<&SpannedSetting<T>>,
        (key, shape): (&str, ValueShape),
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = match &setting?.value {
            TemplatedValue::Literal(value) => return Some(value.clone()),
            TemplatedValue::Template(text) => text,
        };
        let rendered = self.text(text)?;
        let value = read(&rendered);
        if value.is_none() {
            let title = format!(
                "`{key}` takes {}, but this renders to `{rendered}`",
                expected_phrase(shape)
            );
            Problem::add(
                self.problems,
                Problem::new(ProblemCode::WrongType, text.span.clone(), title),
            );
        }
        value
    }

    /// Renders the parts of a template that read only params.
    pub(super) fn partial_template(&mut self, text: &SpannedTemplate) -> Option<Template> {
        if self.is_spent() {
            return None;
        }
        let folded = text.template.substitute_known(&self.scope, &["params"]);
        let folded = self.value_or_report(folded, &text.span, &text.reads)?;
        self.count(folded.bytes(), &text.span)?;
        Some(folded)
    }

    pub(super) fn value_or_report<T>(
        &mut self,
        result: Result<T, ExprError>,
        span: &Range<usize>,
        reads: &[SpannedPath],
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
    let title = format!("the plan takes more than {PLAN_BYTES_MAX} bytes with all values in place");
    let problem = Problem::new(ProblemCode::PlanTooLarge, span.clone(), title);
    problems.push(problem.help("pass large values in files, or reduce the number of cells"));
    None
}
