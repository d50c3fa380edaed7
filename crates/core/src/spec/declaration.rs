//! The parsed pipeline file; every part has its location.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use super::names::is_name;
use crate::expr::{Expression, IfCondition, Template};
use crate::files::{ArtifactsWhen, MissingArtifacts};
use crate::plan::{LockOrder, OnLostContact, PinTarget, RetryOn};
use crate::requirement::RequirementClause;
use crate::time::Span;

/// A value and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// The location, in bytes of the file.
    pub span: Range<usize>,
}

/// A path that an expression reads, and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpannedPath {
    /// `["steps", "bundle", "outputs", "version"]`
    pub path: Vec<String>,
    /// The location, in bytes of the file.
    pub span: Range<usize>,
}

/// A string with or without `${{ }}`, and its location.
#[derive(Clone, Debug)]
pub struct SpannedTemplate {
    /// The template.
    pub template: Template,
    /// The location, in bytes of the file.
    pub span: Range<usize>,
    /// The paths that it reads.
    pub reads: Vec<SpannedPath>,
}

/// An `if:` and its location.
#[derive(Clone, Debug)]
pub struct SpannedCondition {
    /// The condition.
    pub condition: IfCondition,
    /// The location, in bytes of the file.
    pub span: Range<usize>,
    /// The paths that it reads.
    pub reads: Vec<SpannedPath>,
}

/// A value that is known from the file, or rendered when the plan is made.
#[derive(Clone, Debug)]
pub enum TemplatedValue<T> {
    /// A value known from the file.
    Literal(T),
    /// A template to be rendered and parsed. Boxed because few settings are templates.
    Template(Box<SpannedTemplate>),
}

/// A setting and its location.
#[derive(Clone, Debug)]
pub struct SpannedSetting<T> {
    /// The value or its template.
    pub value: TemplatedValue<T>,
    /// The location, in bytes of the file.
    pub span: Range<usize>,
}

impl<T> SpannedSetting<T> {
    /// The paths that it reads, if it is a template.
    pub(crate) fn reads(&self) -> &[SpannedPath] {
        match &self.value {
            TemplatedValue::Template(text) => &text.reads,
            TemplatedValue::Literal(_) => &[],
        }
    }
}

/// A parsed pipeline file.
#[derive(Clone, Debug, Default)]
pub struct PipelineDecl {
    /// The name, if the file has one.
    pub name: Option<Spanned<String>>,
    /// The description.
    pub about: Option<String>,
    /// Maximum duration of a run.
    pub timeout: Option<SpannedSetting<Span>>,
    /// The declared params.
    pub params: Vec<ParamDecl>,
    /// Environment variables of every step.
    pub env: Vec<VariableDecl>,
    /// The slots of each lock.
    pub locks: Vec<(Spanned<String>, SpannedSetting<u32>)>,
    /// Settings of steps without their own.
    pub defaults: StepSettings,
    /// The source of the files that its steps find.
    pub workspace: Option<Spanned<WorkspaceDecl>>,
    /// The steps in file order.
    pub steps: Vec<StepDecl>,
    /// All secrets that the file lists, including those of steps that are not selected.
    pub secrets: BTreeSet<String>,
}

impl PipelineDecl {
    /// Returns the step with this name.
    pub fn step(&self, name: &str) -> Option<&StepDecl> {
        self.steps.iter().find(|step| step.name.value == name)
    }
}

/// The source of the files of a run, as written in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceDecl {
    /// `here`
    Here,
    /// `none`
    None,
    /// `{ shared: PATH }`
    Shared(String),
}

/// The files that a step hands on.
#[derive(Clone, Debug)]
pub struct ArtifactsDecl {
    /// Patterns of paths.
    pub paths: Vec<SpannedTemplate>,
    /// The attempts whose files are kept.
    pub when: ArtifactsWhen,
    /// What follows if no file matches.
    pub missing: MissingArtifacts,
}

/// Artifacts that a step gets.
#[derive(Clone, Debug)]
pub struct FetchDecl {
    /// The name of the step that makes them.
    pub step: Spanned<String>,
    /// The folder in which they are written.
    pub to: Option<Spanned<String>>,
}

/// A declared param: a value given when a run begins.
#[derive(Clone, Debug)]
pub struct ParamDecl {
    /// The name.
    pub name: Spanned<String>,
    /// The description.
    pub about: Option<String>,
    /// The type.
    pub kind: ParamKind,
    /// The default.
    pub default: Option<Spanned<String>>,
    /// Whether it must be given: it has no default and does not set `required: false`.
    pub required: bool,
    /// The allowed values; empty for any.
    pub choices: Vec<Spanned<String>>,
}

/// The type of a param.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A string.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
}

/// An environment variable.
#[derive(Clone, Debug)]
pub struct VariableDecl {
    /// The name.
    pub name: Spanned<String>,
    /// The value.
    pub value: SpannedTemplate,
}

/// A declared step.
#[derive(Clone, Debug)]
pub struct StepDecl {
    /// The name.
    pub name: Spanned<String>,
    /// The description in one line.
    pub about: Option<String>,
    /// The action.
    pub action: ActionDecl,
    /// The steps that it needs.
    pub needs: Vec<NeedRef>,
    /// The matrix.
    pub matrix: Option<MatrixDecl>,
    /// The condition under which it runs.
    pub condition: Option<SpannedCondition>,
    /// The declared outputs.
    pub outputs: Vec<Spanned<String>>,
    /// The locks that it holds while it runs.
    pub locks: Vec<LockRef>,
    /// Where it must run, in addition to labels.
    pub pin: PinTarget,
    /// Maximum concurrent executions of this step and its cells on one worker, over all runs of the pipeline.
    pub per_worker: Option<SpannedSetting<u32>>,
    /// The idempotency key.
    pub idempotency_key: Option<SpannedTemplate>,
    /// The files with test results that it writes, as patterns of paths.
    pub junit_reports: Vec<SpannedTemplate>,
    /// The files that it hands on.
    pub artifacts: Option<ArtifactsDecl>,
    /// The artifacts that it gets; `None` for those of all its needs.
    pub fetch: Option<Vec<FetchDecl>>,
    /// The settings that may have a default.
    pub settings: StepSettings,
}

/// The action of a step.
#[derive(Clone, Debug)]
pub enum ActionDecl {
    /// A command for a shell; its values are passed as variables.
    Script {
        /// The script with variable references in place of `${{ }}`.
        text: String,
        /// The variables that it refers to, with their expressions.
        vars: Vec<(String, Expression)>,
        /// The command as written in the file.
        written: Spanned<String>,
        /// The paths that it reads.
        reads: Vec<SpannedPath>,
    },
    /// A command that runs without a shell.
    Exec {
        /// The program and its arguments.
        argv: Vec<String>,
        /// The command as written in the file.
        written: Spanned<String>,
    },
    /// A step that is compiled into the program of a worker. Boxed because few steps of a large file are calls.
    Call(Box<CallDecl>),
    /// No action; the step is scheduled like any other.
    Noop,
    /// An action that this version cannot execute, with its key.
    Unavailable(&'static str),
}

/// A call of a compiled-in step.
#[derive(Clone, Debug)]
pub struct CallDecl {
    /// The called step: `build`, or `build@5f1c9a30` for exactly this signature.
    pub target: Spanned<CallTarget>,
    /// The values passed to it, by name.
    pub with: Vec<VariableDecl>,
}

/// The name, and optionally the signature, of a called step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTarget {
    /// The name.
    pub name: String,
    /// The required signature, if any.
    pub signature: Option<String>,
}

impl CallTarget {
    /// Parses `build` or `build@5f1c9a30`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, signature) = match text.split_once('@') {
            Some((name, signature)) => (name, Some(signature)),
            None => (text, None),
        };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
        let sound = is_name(name) && signature.is_none_or(digits);
        sound.then(|| Self { name: name.to_owned(), signature: signature.map(str::to_owned) })
    }

    /// Returns the label of workers that can run it.
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

/// A declared need.
#[derive(Clone, Debug)]
pub struct NeedRef {
    /// The needed step.
    pub step: Spanned<String>,
    /// Whether the step runs even if this need fails.
    pub optional: bool,
}

/// Settings that `defaults` can set for all steps.
#[derive(Clone, Debug, Default)]
pub struct StepSettings {
    /// Environment variables.
    pub env: Vec<VariableDecl>,
    /// Secrets that it receives as variables.
    pub secrets: Option<Vec<Spanned<String>>>,
    /// Tags for selecting it.
    pub tags: Option<Vec<Spanned<String>>>,
    /// The shell that runs the command.
    pub shell: Option<Spanned<String>>,
    /// The working directory.
    pub dir: Option<SpannedTemplate>,
    /// Maximum duration of one attempt.
    pub timeout: Option<SpannedSetting<Span>>,
    /// The retry settings.
    pub retry: Option<RetryDecl>,
    /// Required worker labels.
    pub requires: Option<Vec<SpannedSetting<RequirementClause>>>,
    /// Preferred worker labels.
    pub prefers: Option<Vec<SpannedSetting<RequirementClause>>>,
    /// The priority; higher runs first.
    pub priority: Option<SpannedSetting<i32>>,
    /// If true, the run can succeed even if this step fails.
    pub ignore_failure: Option<bool>,
    /// What a worker does with it after losing contact.
    pub on_lost_contact: Option<OnLostContact>,
    /// Maximum wait for a worker that can run it.
    pub wait_for_worker: Option<SpannedSetting<Span>>,
    /// Maximum wait for its locks.
    pub wait_for_lock: Option<SpannedSetting<Span>>,
    /// Time between SIGTERM and SIGKILL.
    pub kill_grace: Option<SpannedSetting<Span>>,
    /// Allowed and denied workers.
    pub nodes: Option<NodeFilter>,
}

/// Declared retry settings.
#[derive(Clone, Debug, Default)]
pub struct RetryDecl {
    /// Maximum attempts after the first.
    pub times: Option<SpannedSetting<u16>>,
    /// Minimum and maximum wait between attempts.
    pub wait: Option<SpannedSetting<(Span, Span)>>,
    /// The failures that are retried.
    pub on: Vec<SpannedSetting<RetryOn>>,
    /// Whether a retry prefers another worker.
    pub elsewhere: bool,
    /// Maximum redeliveries of an attempt after lost workers.
    pub lost: Option<SpannedSetting<u16>>,
}

/// A declared lock use.
#[derive(Clone, Debug)]
pub struct LockRef {
    /// The name.
    pub name: SpannedTemplate,
    /// The order of waiting steps.
    pub order: LockOrder,
}

/// Allowed and denied workers by name.
#[derive(Clone, Debug, Default)]
pub struct NodeFilter {
    /// The only workers that may run it; empty for all.
    pub allow: Vec<SpannedTemplate>,
    /// Workers that may not run it.
    pub deny: Vec<SpannedTemplate>,
}

/// The form of a matrix in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixForm {
    /// `[linux, windows]`: one cell per target, which is required as a label.
    List,
    /// `{ os: […], db: […] }`
    Map,
}

/// A declared matrix.
#[derive(Clone, Debug)]
pub struct MatrixDecl {
    /// The location, in bytes of the file.
    pub span: Range<usize>,
    /// The form in the file.
    pub form: MatrixForm,
    /// The axes; one named `target` for a list.
    pub axes: Vec<MatrixAxis>,
    /// Cells to add, or values to add to existing cells.
    pub include: Vec<MatrixCellPart>,
    /// Cells to remove.
    pub exclude: Vec<MatrixCellPart>,
    /// Axes whose values are required as worker labels.
    pub route: Vec<Spanned<String>>,
}

impl MatrixDecl {
    /// Whether the values of an axis are required as worker labels, through `route` or as a platform axis.
    pub(crate) fn is_routed(&self, axis: &MatrixAxis) -> bool {
        let asked = self.route.iter().any(|name| name.value == axis.name.value);
        asked || self.platform_axes().any(|it| it.name.value == axis.name.value)
    }

    /// The axes that are routed without being listed in `route`: `os` and `arch`.
    pub fn platform_axes(&self) -> impl Iterator<Item = &MatrixAxis> {
        let asked = |axis: &MatrixAxis| self.route.iter().any(|name| name.value == axis.name.value);
        let known = |axis: &MatrixAxis| matches!(&*axis.name.value, "os" | "arch");
        self.axes.iter().filter(move |axis| known(axis) && !asked(axis))
    }
}

/// Named values of a cell in `include` or `exclude`.
pub type MatrixCellPart = Spanned<Vec<(Spanned<String>, SpannedTemplate)>>;

/// An axis of a matrix.
#[derive(Clone, Debug)]
pub struct MatrixAxis {
    /// The name.
    pub name: Spanned<String>,
    /// The values.
    pub values: Vec<SpannedTemplate>,
}
