//! Steps that are compiled into a program, as far as a file that calls them can be checked.

use std::collections::BTreeMap;

/// What `call:` may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallableSet {
    /// Whatever some worker may have: whoever reads the file need not know it.
    Any,
    /// What is built in, and these.
    Known(CallableCatalog),
}

impl CallableSet {
    /// Nothing but what is built in.
    pub const NONE: Self = Self::Known(CallableCatalog(BTreeMap::new()));
}

/// The steps of a program, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallableCatalog(pub BTreeMap<String, CallableStep>);

/// A step that is compiled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallableStep {
    /// What tells its types apart from those of others of its name.
    pub signature: String,
    /// The steps whose results it takes.
    pub needs: Vec<CallableNeed>,
    /// Values that it takes, and whether it can do without.
    pub with: Vec<(String, bool)>,
    /// The type of its result, written out.
    pub output: String,
}

/// A result that a step takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallableNeed {
    /// Of which step.
    pub step: String,
    /// In which form.
    pub form: CallableNeedForm,
    /// The type of it, written out.
    pub takes: String,
    /// The names that a step without types has to hand on, if it is to stand in.
    pub names: Vec<String>,
}

/// In which form a result is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallableNeedForm {
    /// The result of a step.
    One,
    /// Those of all cells of a matrix.
    Cells,
}
