//! Steps that are compiled into a program, as far as a file that calls them can be checked.

use std::collections::BTreeMap;

/// What `call:` may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Whatever some worker may have: whoever reads the file need not know it.
    Any,
    /// What is built in, and these.
    Known(Catalogue),
}

impl Calls {
    /// Nothing but what is built in.
    pub const NONE: Self = Self::Known(Catalogue(BTreeMap::new()));
}

/// The steps of a program, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue(pub BTreeMap<String, Callable>);

/// A step that is compiled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callable {
    /// What tells its types apart from those of others of its name.
    pub signature: String,
    /// The steps whose results it takes.
    pub needs: Vec<NeedOfCall>,
    /// Values that it takes, and whether it can do without.
    pub with: Vec<(String, bool)>,
    /// The type of its result, written out.
    pub output: String,
}

/// A result that a step takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeedOfCall {
    /// Of which step.
    pub step: String,
    /// In which form.
    pub form: NeedForm,
    /// The type of it, written out.
    pub takes: String,
    /// The names that a step without types has to hand on, if it is to stand in.
    pub names: Vec<String>,
}

/// In which form a result is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeedForm {
    /// The result of a step.
    One,
    /// Those of all cells of a matrix.
    Cells,
}
