//! The answer to a change: the id of the object that changed.

use std::fmt::Display;

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::json_form::AsText;

/// The object that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(bound = "T: Display")]
#[schemars(inline, bound = "")]
pub(super) struct IdBody<T> {
    /// The id of the object that changed.
    pub(super) id: AsText<T>,
}

impl<T> IdBody<T> {
    /// The answer about the object with this id.
    pub(super) const fn of(id: T) -> Self {
        Self { id: AsText(id) }
    }
}
