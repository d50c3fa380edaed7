//! The edge between a step and a step that it needs.

use serde::{Deserialize, Serialize};

use super::builder::NeedKind;
use crate::id::StepIx;

/// One end of a need.
///
/// The top bit marks an optional need; plans have far fewer nodes than 2³¹.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeedEdge(u32);

impl NeedEdge {
    const OPTIONAL: u32 = 1 << 31;

    pub(super) const fn new(step: StepIx, need: NeedKind) -> Self {
        match need {
            NeedKind::Required => Self(step.0),
            NeedKind::Optional => Self(step.0 | Self::OPTIONAL),
        }
    }

    /// The node at the other end.
    pub const fn step(self) -> StepIx {
        StepIx(self.0 & !Self::OPTIONAL)
    }

    /// Whether a failure of the need blocks the step.
    pub const fn is_required(self) -> bool {
        self.0 & Self::OPTIONAL == 0
    }
}
