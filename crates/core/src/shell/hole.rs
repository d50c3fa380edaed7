//! What happens at `${{`: a reference, or a refusal.

use std::ops::Range;

use super::frame::Open;
use super::lexer::Lexer;
use super::refusal::Refusal;
use super::script::Form;
use crate::expr::{ExprError, Expression, expression_at};

/// An expression in a script.
pub(super) struct Hole {
    pub(super) range: Range<usize>,
    pub(super) expression: Expression,
    pub(super) form: Form,
}

impl Lexer<'_> {
    /// `${{ … }}` where a value may stand.
    pub(super) fn hole(&mut self) -> Result<(), ExprError> {
        if let Some(refusal) = self.unsure.or_else(|| self.refusal()) {
            return self.refuse(refusal);
        }
        let form = if self.top().kind.has_commands() { Form::Bare } else { Form::Quoted };
        let (range, expression) = self.expression()?;
        if self.script[range.clone()].contains('\n') {
            return Err(Refusal::Lines.error(range, &expression));
        }
        self.at = range.end;
        self.holes.push(Hole { range, expression, form });
        Ok(())
    }

    /// Why a value cannot stand here.
    fn refusal(&self) -> Option<Refusal> {
        let mut around = self.frames.iter().rev().map(|frame| frame.kind);
        let mut inner = around.next();
        if inner == Some(Open::Double) {
            inner = around.next().filter(|kind| !kind.has_commands());
        }
        match inner {
            Some(Open::Parameter) => return Some(Refusal::Parameter),
            Some(Open::Arithmetic(_)) => return Some(Refusal::Arithmetic),
            _ => {}
        }
        let mut inside = self.frames.iter().rev().take_while(|f| f.kind != Open::Substitution);
        if inside.any(|frame| frame.kind == Open::DoubleParen) {
            return Some(Refusal::Arithmetic);
        }
        let word = self.frames.iter().rev().find(|frame| frame.kind.has_commands())?.word?;
        subscript(&self.script[word..self.at]).then_some(Refusal::Subscript)
    }

    /// Refuses the expression whose `${{` is here.
    pub(super) fn refuse(&self, refusal: Refusal) -> Result<(), ExprError> {
        let (range, expression) = self.expression()?;
        Err(refusal.error(range, &expression))
    }

    /// The expression whose `${{` is here.
    fn expression(&self) -> Result<(Range<usize>, Expression), ExprError> {
        let (expression, end) = expression_at(self.script, self.at)?;
        Ok((self.at..end, expression))
    }

    /// Passes the text up to `end`, in which nothing is expanded or nothing can be.
    pub(super) fn literal(&mut self, end: usize, refusal: Refusal) -> Result<(), ExprError> {
        if let Some(found) = self.script[self.at..end].find("${{") {
            self.at += found;
            return self.refuse(self.unsure.unwrap_or(refusal));
        }
        self.at = end;
        Ok(())
    }
}

/// Whether a word stands inside the `[` of `name[`.
fn subscript(word: &str) -> bool {
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = word.split('[').next().unwrap_or_default();
    let open = word.matches('[').count() > word.matches(']').count();
    open && !name.is_empty() && name.chars().all(of_name)
}
