//! What the user wrote, read: every part with its place in the file.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use super::names::is_name;
use crate::expr::{Condition, Expression, Template};
use crate::plan::{LockOrder, OnLostContact, Pin, RetryOn};
use crate::requirement::Clause;
use crate::time::Span;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Bytes of the file.
    pub span: Range<usize>,
}

/// A name path that an expression reads, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadPath {
    /// `["steps", "bundle", "outputs", "version"]`
    pub path: Vec<String>,
    /// Bytes of the file.
    pub span: Range<usize>,
}

/// A text with `${{ }}` in it, or without.
#[derive(Clone, Debug)]
pub struct Text {
    /// What it says.
    pub template: Template,
    /// Where it stands.
    pub span: Range<usize>,
    /// What it reads.
    pub reads: Vec<ReadPath>,
}

/// An `if:`.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What it asks.
    pub condition: Condition,
    /// Where it stands.
    pub span: Range<usize>,
    /// What it reads.
    pub reads: Vec<ReadPath>,
}

/// A value that is known from the file, or when the plan is made.
#[derive(Clone, Debug)]
pub enum Late<T> {
    /// Written out.
    Known(T),
    /// To be rendered, then read. Boxed: hardly any of the many settings of many steps is.
    Later(Box<Text>),
}

/// A setting and where it stands.
#[derive(Clone, Debug)]
pub struct Setting<T> {
    /// What it is.
    pub value: Late<T>,
    /// Bytes of the file.
    pub span: Range<usize>,
}

impl<T> Setting<T> {
    /// What it reads, if it is not written out.
    pub(crate) fn reads(&self) -> &[ReadPath] {
        match &self.value {
            Late::Later(text) => &text.reads,
            Late::Known(_) => &[],
        }
    }
}

/// A pipeline file, read.
#[derive(Clone, Debug, Default)]
pub struct Pipeline {
    /// Its name, if it says one.
    pub name: Option<Spanned<String>>,
    /// What it is for.
    pub about: Option<String>,
    /// The longest that a run may take.
    pub timeout: Option<Setting<Span>>,
    /// Values given when a run begins.
    pub params: Vec<Param>,
    /// Environment variables of every step.
    pub env: Vec<Variable>,
    /// Slots of locks.
    pub locks: Vec<(Spanned<String>, Setting<u32>)>,
    /// Settings of every step that does not have its own.
    pub defaults: Settings,
    /// The steps, as they stand in the file.
    pub steps: Vec<Step>,
    /// Names of all secrets that the file lists, also of steps that were not selected.
    pub secrets: BTreeSet<String>,
}

impl Pipeline {
    /// The step of this name.
    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name.value == name)
    }
}

/// A value given when a run begins.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name.
    pub name: Spanned<String>,
    /// What it is for.
    pub about: Option<String>,
    /// What it is.
    pub kind: ParamKind,
    /// What it is if not given.
    pub default: Option<Spanned<String>>,
    /// Whether it must be given: it has no default, and does not say otherwise.
    pub required: bool,
    /// The only values that it may have; empty: any.
    pub choices: Vec<Spanned<String>>,
}

/// What a param is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// Text.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
}

/// An environment variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Spanned<String>,
    /// Its value.
    pub value: Text,
}

/// A step as it was written.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its name.
    pub name: Spanned<String>,
    /// What it does, in one line.
    pub about: Option<String>,
    /// What is executed.
    pub action: Action,
    /// What it needs.
    pub needs: Vec<NeedRef>,
    /// Its cells.
    pub matrix: Option<Matrix>,
    /// Whether it runs.
    pub condition: Option<Asked>,
    /// Names that it writes.
    pub outputs: Vec<Spanned<String>>,
    /// What it holds while it runs.
    pub locks: Vec<LockRef>,
    /// Where it must run, beyond labels.
    pub pin: Pin,
    /// The most of this step, cells included, that one worker runs at a time, over all runs of the pipeline.
    pub per_worker: Option<Setting<u32>>,
    /// The key under which it is done once.
    pub once: Option<Text>,
    /// What may have a default.
    pub settings: Settings,
}

/// What a step executes.
#[derive(Clone, Debug)]
pub enum Action {
    /// A command for a shell, with its values as variables.
    Script {
        /// What the shell gets: references in place of `${{ }}`.
        text: String,
        /// The variables that it refers to, with what they are worth.
        vars: Vec<(String, Expression)>,
        /// The command as it was written.
        written: Spanned<String>,
        /// What it reads.
        reads: Vec<ReadPath>,
    },
    /// A command that needs no shell.
    Exec {
        /// The program and its arguments.
        argv: Vec<String>,
        /// The command as it was written.
        written: Spanned<String>,
    },
    /// A step that is compiled into the program of a worker. Boxed: hardly any step of a large file is one.
    Call(Box<Call>),
    /// Goes the full way and does nothing.
    Noop,
    /// What this version cannot execute: the key that says so.
    Unavailable(&'static str),
}

/// A step that is compiled in, as it was called.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which: `build`, or `build@5f1c9a30` for the one with these types and no other.
    pub target: Spanned<CallTarget>,
    /// Values that it gets, by name.
    pub with: Vec<Variable>,
}

/// Which step is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTarget {
    /// Its name.
    pub name: String,
    /// What tells its types apart from those of others of its name, if only these will do.
    pub signature: Option<String>,
}

impl CallTarget {
    /// Reads `build` or `build@5f1c9a30`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, signature) = match text.split_once('@') {
            Some((name, signature)) => (name, Some(signature)),
            None => (text, None),
        };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
        let sound = is_name(name) && signature.is_none_or(digits);
        sound.then(|| Self { name: name.to_owned(), signature: signature.map(str::to_owned) })
    }

    /// The label of the workers that can run it.
    pub fn label(&self) -> String {
        format!("call={self}")
    }
}

impl fmt::Display for CallTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.signature {
            Some(signature) => write!(f, "{}@{signature}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A need as it was written.
#[derive(Clone, Debug)]
pub struct NeedRef {
    /// Which step.
    pub step: Spanned<String>,
    /// Whether a failure of it blocks.
    pub optional: bool,
}

/// Settings that can have a default for all steps.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Environment variables.
    pub env: Vec<Variable>,
    /// Secrets that it gets as variables.
    pub secrets: Option<Vec<Spanned<String>>>,
    /// Words for selecting it.
    pub tags: Option<Vec<Spanned<String>>>,
    /// What runs the command.
    pub shell: Option<Spanned<String>>,
    /// Where it runs.
    pub dir: Option<Text>,
    /// The longest that one attempt may run.
    pub timeout: Option<Setting<Span>>,
    /// How often it is tried.
    pub retry: Option<Retry>,
    /// What a worker must be or have.
    pub requires: Option<Vec<Setting<Clause>>>,
    /// What a worker had better be or have.
    pub prefers: Option<Vec<Setting<Clause>>>,
    /// Greater goes first.
    pub priority: Option<Setting<i32>>,
    /// Whether its failure leaves the run as it is.
    pub ignore_failure: Option<bool>,
    /// What a worker that has lost contact does with it.
    pub on_lost_contact: Option<OnLostContact>,
    /// How long it waits while no worker could run it.
    pub wait_for_worker: Option<Setting<Span>>,
    /// How long it waits for its locks.
    pub wait_for_lock: Option<Setting<Span>>,
    /// From the polite order to stop to the other one.
    pub kill_grace: Option<Setting<Span>>,
    /// Workers by name.
    pub nodes: Option<Nodes>,
}

/// How often a step is tried, as it was written.
#[derive(Clone, Debug, Default)]
pub struct Retry {
    /// Attempts after the first.
    pub times: Option<Setting<u16>>,
    /// The shortest and longest wait.
    pub wait: Option<Setting<(Span, Span)>>,
    /// Which failures are tried again.
    pub on: Vec<Setting<RetryOn>>,
    /// Whether another worker should try.
    pub elsewhere: bool,
    /// Hand-outs after the first when workers are lost.
    pub lost: Option<Setting<u16>>,
}

impl Retry {
    /// What it reads, if its values are not written out.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &ReadPath> {
        let numbers = self.times.iter().chain(&self.lost).flat_map(Setting::reads);
        let waits = self.wait.iter().flat_map(Setting::reads);
        numbers.chain(waits).chain(self.on.iter().flat_map(Setting::reads))
    }
}

/// A lock as it was written.
#[derive(Clone, Debug)]
pub struct LockRef {
    /// Its name.
    pub name: Text,
    /// Who goes first.
    pub order: LockOrder,
}

/// Workers by name.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    /// The only ones that may run it; empty: all.
    pub allow: Vec<Text>,
    /// Those that may not.
    pub deny: Vec<Text>,
}

/// How a matrix was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixForm {
    /// `[linux, windows]`: one cell per target, which is required as a label.
    List,
    /// `{ os: […], db: […] }`
    Map,
}

/// A matrix as it was written.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Where it stands.
    pub span: Range<usize>,
    /// How it was written.
    pub form: MatrixForm,
    /// Its axes; one called `target` for a list.
    pub axes: Vec<Axis>,
    /// Cells to add, or values to add to cells.
    pub include: Vec<CellPart>,
    /// Cells to leave out.
    pub exclude: Vec<CellPart>,
    /// Axes whose value a worker must have as a label.
    pub route: Vec<Spanned<String>>,
}

impl Matrix {
    /// Whether the values of an axis choose the machine: asked for, or by itself.
    pub(crate) fn routes(&self, axis: &Axis) -> bool {
        let asked = self.route.iter().any(|name| name.value == axis.name.value);
        asked || self.routes_by_itself().any(|it| it.name.value == axis.name.value)
    }

    /// The axes that choose the machine without being asked to: `os` and `arch`.
    pub fn routes_by_itself(&self) -> impl Iterator<Item = &Axis> {
        let asked = |axis: &Axis| self.route.iter().any(|name| name.value == axis.name.value);
        let known = |axis: &Axis| matches!(&*axis.name.value, "os" | "arch");
        self.axes.iter().filter(move |axis| known(axis) && !asked(axis))
    }
}

/// Values of a cell by their names, as an `include` or `exclude` has them.
pub type CellPart = Spanned<Vec<(Spanned<String>, Text)>>;

/// An axis of a matrix.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name.
    pub name: Spanned<String>,
    /// Its values.
    pub values: Vec<Text>,
}
