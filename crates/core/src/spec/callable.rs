//! Steps that are compiled into a program, as far as needed to check a file that calls them.

use std::collections::BTreeMap;

/// The steps that `call:` may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallableSet {
    /// Any step: workers may provide steps that the reader of the file does not know.
    Any,
    /// The built-in steps and these.
    Known(CallableCatalog),
}

impl CallableSet {
    /// Only the built-in steps.
    pub const NONE: Self = Self::Known(CallableCatalog(BTreeMap::new()));
}

/// The steps of a program by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallableCatalog(pub BTreeMap<String, CallableStep>);

/// A compiled-in step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallableStep {
    /// The hash of its types, which distinguishes steps of the same name.
    pub signature: String,
    /// The results that it takes from other steps.
    pub needs: Vec<CallableNeed>,
    /// Values that it takes, and whether each is optional.
    pub with: Vec<(String, bool)>,
    /// The type of its result.
    pub output: String,
}

/// A result that a step takes from another step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallableNeed {
    /// The other step.
    pub step: String,
    /// The form of the result.
    pub form: CallableNeedForm,
    /// The type of the result.
    pub takes: String,
    /// The outputs that an untyped step must declare to provide the result.
    pub names: Vec<String>,
}

/// The form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallableNeedForm {
    /// The result of one step.
    One,
    /// The results of all cells of a matrix.
    Cells,
}
