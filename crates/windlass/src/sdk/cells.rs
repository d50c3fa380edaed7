//! The results of a step with a matrix.

use std::fmt;
use std::ops::Deref;

use windlass_core::outcome::StepStatus;

use super::context::Context;
use super::error::Result;
use super::parameter::Parameter;
use super::step::{Matrix, Step};
use super::takes::Takes;

/// The results of all cells of a step, in the order of its matrix.
pub struct Cells<S: Step>(Vec<Cell<S::Output>>);

/// One cell of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cell<T> {
    /// Its name: `test[linux]`.
    pub name: String,
    /// The final status.
    pub status: StepStatus,
    /// Its result, if it succeeded.
    pub output: Option<T>,
}

impl<T> Cell<T> {
    /// Creates a cell, to test a function.
    pub fn new(name: impl Into<String>, status: StepStatus, output: Option<T>) -> Self {
        Self { name: name.into(), status, output }
    }

    /// The target: the part of the name between brackets.
    pub fn target(&self) -> &str {
        let inside = self.name.split_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
        inside.unwrap_or_default()
    }
}

impl<S: Step> Cells<S> {
    /// Creates cells, to test a function.
    pub const fn new(cells: Vec<Cell<S::Output>>) -> Self {
        Self(cells)
    }

    /// The results of the cells that succeeded.
    pub fn outputs(&self) -> impl Iterator<Item = &S::Output> {
        self.0.iter().filter_map(|cell| cell.output.as_ref())
    }
}

impl<S: Step> Deref for Cells<S> {
    type Target = [Cell<S::Output>];

    fn deref(&self) -> &[Cell<S::Output>] {
        &self.0
    }
}

impl<S: Step<Output: fmt::Debug>> fmt::Debug for Cells<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0).finish()
    }
}

impl<S: Matrix> Parameter for Cells<S> {
    fn takes(_: &'static str, takes: &mut Takes) {
        takes.cells::<S>();
    }

    fn given(_: &'static str, context: &Context) -> Result<Self> {
        context.cells::<S>().map(Self)
    }
}
