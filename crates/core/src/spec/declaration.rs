//! What the user wrote, read: every part with its place in the file.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use super::names::is_name;
use crate::expr::{Expression, IfCondition, Template};
use crate::plan::{LockOrder, OnLostContact, PinTarget, RetryOn};
use crate::requirement::RequirementClause;
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
pub struct SpannedPath {
    /// `["steps", "bundle", "outputs", "version"]`
    pub path: Vec<String>,
    /// Bytes of the file.
    pub span: Range<usize>,
}

/// A text with `${{ }}` in it, or without.
#[derive(Clone, Debug)]
pub struct SpannedTemplate {
    /// What it says.
    pub template: Template,
    /// Where it stands.
    pub span: Range<usize>,
    /// What it reads.
    pub reads: Vec<SpannedPath>,
}

/// An `if:`.
#[derive(Clone, Debug)]
pub struct SpannedCondition {
    /// What it asks.
    pub condition: IfCondition,
    /// Where it stands.
    pub span: Range<usize>,
    /// What it reads.
    pub reads: Vec<SpannedPath>,
}

/// A value that is known from the file, or when the plan is made.
#[derive(Clone, Debug)]
pub enum TemplatedValue<T> {
    /// Written out.
    Literal(T),
    /// To be rendered, then read. Boxed: hardly any of the many settings of many steps is.
    Template(Box<SpannedTemplate>),
}

/// A setting and where it stands.
#[derive(Clone, Debug)]
pub struct SpannedSetting<T> {
    /// What it is.
    pub value: TemplatedValue<T>,
    /// Bytes of the file.
    pub span: Range<usize>,
}

impl<T> SpannedSetting<T> {
    /// What it reads, if it is not written out.
    pub(crate) fn reads(&self) -> &[SpannedPath] {
        match &self.value {
            TemplatedValue::Template(text) => &text.reads,
            TemplatedValue::Literal(_) => &[],
        }
    }
}

/// A pipeline file, read.
#[derive(Clone, Debug, Default)]
pub struct PipelineDecl {
    /// Its name, if it says one.
    pub name: Option<Spanned<String>>,
    /// What it is for.
    pub about: Option<String>,
    /// The longest that a run may take.
    pub timeout: Option<SpannedSetting<Span>>,
    /// Values given when a run begins.
    pub params: Vec<ParamDecl>,
    /// Environment variables of every step.
    pub env: Vec<VariableDecl>,
    /// Slots of locks.
    pub locks: Vec<(Spanned<String>, SpannedSetting<u32>)>,
    /// Settings of every step that does not have its own.
    pub defaults: StepSettings,
    /// The steps, as they stand in the file.
    pub steps: Vec<StepDecl>,
    /// Names of all secrets that the file lists, also of steps that were not selected.
    pub secrets: BTreeSet<String>,
}

impl PipelineDecl {
    /// The step of this name.
    pub fn step(&self, name: &str) -> Option<&StepDecl> {
        self.steps.iter().find(|step| step.name.value == name)
    }
}

/// A value given when a run begins.
#[derive(Clone, Debug)]
pub struct ParamDecl {
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
pub struct VariableDecl {
    /// Its name.
    pub name: Spanned<String>,
    /// Its value.
    pub value: SpannedTemplate,
}

/// A step as it was written.
#[derive(Clone, Debug)]
pub struct StepDecl {
    /// Its name.
    pub name: Spanned<String>,
    /// What it does, in one line.
    pub about: Option<String>,
    /// What is executed.
    pub action: ActionDecl,
    /// What it needs.
    pub needs: Vec<NeedRef>,
    /// Its cells.
    pub matrix: Option<MatrixDecl>,
    /// Whether it runs.
    pub condition: Option<SpannedCondition>,
    /// Names that it writes.
    pub outputs: Vec<Spanned<String>>,
    /// What it holds while it runs.
    pub locks: Vec<LockRef>,
    /// Where it must run, beyond labels.
    pub pin: PinTarget,
    /// The most of this step, cells included, that one worker runs at a time, over all runs of the pipeline.
    pub per_worker: Option<SpannedSetting<u32>>,
    /// The key under which it is done once.
    pub idempotency_key: Option<SpannedTemplate>,
    /// What may have a default.
    pub settings: StepSettings,
}

/// What a step executes.
#[derive(Clone, Debug)]
pub enum ActionDecl {
    /// A command for a shell, with its values as variables.
    Script {
        /// What the shell gets: references in place of `${{ }}`.
        text: String,
        /// The variables that it refers to, with what they are worth.
        vars: Vec<(String, Expression)>,
        /// The command as it was written.
        written: Spanned<String>,
        /// What it reads.
        reads: Vec<SpannedPath>,
    },
    /// A command that needs no shell.
    Exec {
        /// The program and its arguments.
        argv: Vec<String>,
        /// The command as it was written.
        written: Spanned<String>,
    },
    /// A step that is compiled into the program of a worker. Boxed: hardly any step of a large file is one.
    Call(Box<CallDecl>),
    /// Goes the full way and does nothing.
    Noop,
    /// What this version cannot execute: the key that says so.
    Unavailable(&'static str),
}

/// A step that is compiled in, as it was called.
#[derive(Clone, Debug)]
pub struct CallDecl {
    /// Which: `build`, or `build@5f1c9a30` for the one with these types and no other.
    pub target: Spanned<CallTarget>,
    /// Values that it gets, by name.
    pub with: Vec<VariableDecl>,
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
pub struct StepSettings {
    /// Environment variables.
    pub env: Vec<VariableDecl>,
    /// Secrets that it gets as variables.
    pub secrets: Option<Vec<Spanned<String>>>,
    /// Words for selecting it.
    pub tags: Option<Vec<Spanned<String>>>,
    /// What runs the command.
    pub shell: Option<Spanned<String>>,
    /// Where it runs.
    pub dir: Option<SpannedTemplate>,
    /// The longest that one attempt may run.
    pub timeout: Option<SpannedSetting<Span>>,
    /// How often it is tried.
    pub retry: Option<RetryDecl>,
    /// What a worker must be or have.
    pub requires: Option<Vec<SpannedSetting<RequirementClause>>>,
    /// What a worker had better be or have.
    pub prefers: Option<Vec<SpannedSetting<RequirementClause>>>,
    /// Greater goes first.
    pub priority: Option<SpannedSetting<i32>>,
    /// Whether its failure leaves the run as it is.
    pub ignore_failure: Option<bool>,
    /// What a worker that has lost contact does with it.
    pub on_lost_contact: Option<OnLostContact>,
    /// How long it waits while no worker could run it.
    pub wait_for_worker: Option<SpannedSetting<Span>>,
    /// How long it waits for its locks.
    pub wait_for_lock: Option<SpannedSetting<Span>>,
    /// From the polite order to stop to the other one.
    pub kill_grace: Option<SpannedSetting<Span>>,
    /// Workers by name.
    pub nodes: Option<NodeFilter>,
}

/// How often a step is tried, as it was written.
#[derive(Clone, Debug, Default)]
pub struct RetryDecl {
    /// Attempts after the first.
    pub times: Option<SpannedSetting<u16>>,
    /// The shortest and longest wait.
    pub wait: Option<SpannedSetting<(Span, Span)>>,
    /// Which failures are tried again.
    pub on: Vec<SpannedSetting<RetryOn>>,
    /// Whether another worker should try.
    pub elsewhere: bool,
    /// Hand-outs after the first when workers are lost.
    pub lost: Option<SpannedSetting<u16>>,
}

impl RetryDecl {
    /// What it reads, if its values are not written out.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &SpannedPath> {
        let numbers = self.times.iter().chain(&self.lost).flat_map(SpannedSetting::reads);
        let waits = self.wait.iter().flat_map(SpannedSetting::reads);
        numbers.chain(waits).chain(self.on.iter().flat_map(SpannedSetting::reads))
    }
}

/// A lock as it was written.
#[derive(Clone, Debug)]
pub struct LockRef {
    /// Its name.
    pub name: SpannedTemplate,
    /// Who goes first.
    pub order: LockOrder,
}

/// Workers by name.
#[derive(Clone, Debug, Default)]
pub struct NodeFilter {
    /// The only ones that may run it; empty: all.
    pub allow: Vec<SpannedTemplate>,
    /// Those that may not.
    pub deny: Vec<SpannedTemplate>,
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
pub struct MatrixDecl {
    /// Where it stands.
    pub span: Range<usize>,
    /// How it was written.
    pub form: MatrixForm,
    /// Its axes; one called `target` for a list.
    pub axes: Vec<MatrixAxis>,
    /// Cells to add, or values to add to cells.
    pub include: Vec<MatrixCellPart>,
    /// Cells to leave out.
    pub exclude: Vec<MatrixCellPart>,
    /// Axes whose value a worker must have as a label.
    pub route: Vec<Spanned<String>>,
}

impl MatrixDecl {
    /// Whether the values of an axis choose the machine: asked for, or by itself.
    pub(crate) fn is_routed(&self, axis: &MatrixAxis) -> bool {
        let asked = self.route.iter().any(|name| name.value == axis.name.value);
        asked || self.platform_axes().any(|it| it.name.value == axis.name.value)
    }

    /// The axes that choose the machine without being asked to: `os` and `arch`.
    pub fn platform_axes(&self) -> impl Iterator<Item = &MatrixAxis> {
        let asked = |axis: &MatrixAxis| self.route.iter().any(|name| name.value == axis.name.value);
        let known = |axis: &MatrixAxis| matches!(&*axis.name.value, "os" | "arch");
        self.axes.iter().filter(move |axis| known(axis) && !asked(axis))
    }
}

/// Values of a cell by their names, as an `include` or `exclude` has them.
pub type MatrixCellPart = Spanned<Vec<(Spanned<String>, SpannedTemplate)>>;

/// An axis of a matrix.
#[derive(Clone, Debug)]
pub struct MatrixAxis {
    /// Its name.
    pub name: Spanned<String>,
    /// Its values.
    pub values: Vec<SpannedTemplate>,
}
