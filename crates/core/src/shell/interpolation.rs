//! Handles `${{`: creates a reference or an error.

use std::ops::Range;

use super::frame::ShellFrameKind;
use super::lexer::ShellLexer;
use super::refusal::InterpolationRefusal;
use super::script::ReferenceQuoting;
use crate::expr::{ExprError, Expression, expression_at};

/// An expression in a script.
pub(super) struct ScriptInterpolation {
    pub(super) range: Range<usize>,
    pub(super) expression: Expression,
    pub(super) form: ReferenceQuoting,
}

impl ShellLexer<'_> {
    /// Reads `${{ … }}` where a value is allowed.
    pub(super) fn interpolate(&mut self) -> Result<(), ExprError> {
        if let Some(refusal) = self.ambiguity.or_else(|| self.refusal()) {
            return self.refuse(refusal);
        }
        let form = if self.top().kind.has_commands() {
            ReferenceQuoting::Bare
        } else {
            ReferenceQuoting::Quoted
        };
        let (range, expression) = self.expression()?;
        if self.script[range.clone()].contains('\n') {
            return Err(InterpolationRefusal::Lines.error(range, &expression));
        }
        self.at = range.end;
        self.interpolations.push(ScriptInterpolation { range, expression, form });
        Ok(())
    }

    /// Returns why a value is not allowed here, if so.
    fn refusal(&self) -> Option<InterpolationRefusal> {
        let mut around = self.frames.iter().rev().map(|frame| frame.kind);
        let mut inner = around.next();
        if inner == Some(ShellFrameKind::DoubleQuotes) {
            inner = around.next().filter(|kind| !kind.has_commands());
        }
        match inner {
            Some(ShellFrameKind::Parameter) => return Some(InterpolationRefusal::Parameter),
            Some(ShellFrameKind::Arithmetic(_)) => return Some(InterpolationRefusal::Arithmetic),
            _ => {}
        }
        let mut inside =
            self.frames.iter().rev().take_while(|f| f.kind != ShellFrameKind::Substitution);
        if inside.any(|frame| frame.kind == ShellFrameKind::DoubleParen) {
            return Some(InterpolationRefusal::Arithmetic);
        }
        let word = self.frames.iter().rev().find(|frame| frame.kind.has_commands())?.word?;
        subscript(&self.script[word..self.at]).then_some(InterpolationRefusal::Subscript)
    }

    /// Refuses the expression whose `${{` is here.
    pub(super) fn refuse(&self, refusal: InterpolationRefusal) -> Result<(), ExprError> {
        let (range, expression) = self.expression()?;
        Err(refusal.error(range, &expression))
    }

    /// The expression whose `${{` is here.
    fn expression(&self) -> Result<(Range<usize>, Expression), ExprError> {
        let (expression, end) = expression_at(self.script, self.at)?;
        Ok((self.at..end, expression))
    }

    /// Skips text up to `end` that must not contain `${{ }}`.
    pub(super) fn literal(
        &mut self,
        end: usize,
        refusal: InterpolationRefusal,
    ) -> Result<(), ExprError> {
        if let Some(found) = self.script[self.at..end].find("${{") {
            self.at += found;
            return self.refuse(self.ambiguity.unwrap_or(refusal));
        }
        self.at = end;
        Ok(())
    }
}

/// Whether a word ends inside the subscript of `name[`.
fn subscript(word: &str) -> bool {
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = word.split('[').next().unwrap_or_default();
    let open = word.matches('[').count() > word.matches(']').count();
    open && !name.is_empty() && name.chars().all(of_name)
}
