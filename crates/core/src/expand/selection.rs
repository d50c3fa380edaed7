//! Selects some steps of a pipeline.

use std::collections::{BTreeMap, BTreeSet};

use crate::spec::{ActionDecl, PipelineDecl, StepDecl, nearest_name};

/// The selected steps of a pipeline (default: all).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepSelection {
    /// Steps to select with everything that they need.
    pub steps: Vec<String>,
    /// Steps to select alone.
    pub only: Vec<String>,
    /// Steps to select with everything that needs them.
    pub from: Vec<String>,
    /// Tags of steps to select with everything that they need.
    pub tags: Vec<String>,
}

/// An invalid selection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// The step does not exist.
    #[error("there is no step `{name}`{}", hint(nearest.as_deref()))]
    NoStep {
        /// The requested name.
        name: String,
        /// A similar name.
        nearest: Option<String>,
    },
    /// No step has the tag.
    #[error("no step has the tag `{name}`{}", hint(nearest.as_deref()))]
    NoTag {
        /// The requested name.
        name: String,
        /// A similar name.
        nearest: Option<String>,
    },
    /// A selected step reads outputs of a step that is not selected.
    #[error(
        "step `{step}` reads the outputs of `{needed}`, which is not selected: select `{needed}` too"
    )]
    Reads {
        /// The selected step.
        step: String,
        /// The step that it reads.
        needed: String,
    },
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(": did you mean `{name}`?")).unwrap_or_default()
}

impl StepSelection {
    /// Whether it selects everything.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Removes the steps that are not selected. Needs on removed steps count as done.
    pub fn select_from(&self, mut pipeline: PipelineDecl) -> Result<PipelineDecl, SelectionError> {
        if self.is_all() {
            return Ok(pipeline);
        }
        let wanted = self.wanted(&pipeline)?;
        pipeline.steps.retain(|step| wanted.contains(&step.name.value));
        for step in &mut pipeline.steps {
            let left_out = |name: &str| !wanted.contains(name);
            if let Some(needed) = reads(step).into_iter().find(|name| left_out(name)) {
                return Err(SelectionError::Reads { step: step.name.value.clone(), needed });
            }
            step.needs.retain(|need| wanted.contains(&need.step.value));
        }
        Ok(pipeline)
    }

    fn wanted(&self, pipeline: &PipelineDecl) -> Result<BTreeSet<String>, SelectionError> {
        let index = SelectionIndex::new(pipeline);
        let mut wanted = BTreeSet::new();
        for name in &self.steps {
            index.check_known(pipeline, name)?;
            add_needs(&index, name, &mut wanted);
        }
        for name in &self.only {
            index.check_known(pipeline, name)?;
            wanted.insert(name.clone());
        }
        for name in &self.from {
            index.check_known(pipeline, name)?;
            add_dependents(&index, name, &mut wanted);
        }
        for tag in &self.tags {
            for name in tagged(pipeline, tag)? {
                add_needs(&index, &name, &mut wanted);
            }
        }
        Ok(wanted)
    }
}

fn tags<'a>(pipeline: &'a PipelineDecl, step: &'a StepDecl) -> impl Iterator<Item = &'a str> {
    let tags = step.settings.tags.as_ref().or(pipeline.defaults.tags.as_ref());
    tags.into_iter().flatten().map(|tag| tag.value.as_str())
}

fn tagged(pipeline: &PipelineDecl, tag: &str) -> Result<Vec<String>, SelectionError> {
    let has = |step: &&StepDecl| tags(pipeline, step).any(|own| own == tag);
    let found: Vec<String> =
        pipeline.steps.iter().filter(has).map(|step| step.name.value.clone()).collect();
    if found.is_empty() {
        let all = pipeline.steps.iter().flat_map(|step| tags(pipeline, step));
        let nearest = nearest_name(tag, all).map(str::to_owned);
        return Err(SelectionError::NoTag { name: tag.to_owned(), nearest });
    }
    Ok(found)
}

fn add_needs(index: &SelectionIndex<'_>, name: &str, wanted: &mut BTreeSet<String>) {
    let mut open = vec![name];
    while let Some(name) = open.pop() {
        if wanted.insert(name.to_owned()) {
            let needs = index.needs.get(name).into_iter().flatten();
            open.extend(needs.copied());
        }
    }
}

fn add_dependents(index: &SelectionIndex<'_>, name: &str, wanted: &mut BTreeSet<String>) {
    let mut open = vec![name];
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if seen.insert(name) {
            wanted.insert(name.to_owned());
            open.extend(index.dependents.get(name).into_iter().flatten().copied());
        }
    }
}

/// Which step needs which, by name.
struct SelectionIndex<'a> {
    /// Required needs only: an optional need does not select a step.
    needs: BTreeMap<&'a str, Vec<&'a str>>,
    dependents: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> SelectionIndex<'a> {
    fn new(pipeline: &'a PipelineDecl) -> Self {
        let mut index = Self { needs: BTreeMap::new(), dependents: BTreeMap::new() };
        for step in &pipeline.steps {
            let name = &*step.name.value;
            let needs = index.needs.entry(name).or_default();
            needs.extend(
                step.needs.iter().filter(|need| !need.optional).map(|need| &*need.step.value),
            );
            for need in &step.needs {
                index.dependents.entry(&*need.step.value).or_default().push(name);
            }
        }
        index
    }

    fn check_known(&self, pipeline: &PipelineDecl, name: &str) -> Result<(), SelectionError> {
        if self.needs.contains_key(name) {
            return Ok(());
        }
        let names = pipeline.steps.iter().map(|step| step.name.value.as_str());
        let nearest = nearest_name(name, names).map(str::to_owned);
        Err(SelectionError::NoStep { name: name.to_owned(), nearest })
    }
}

/// Returns the names of steps whose results a step reads.
fn reads(step: &StepDecl) -> BTreeSet<String> {
    let script = match &step.action {
        ActionDecl::Script { reads, .. } => reads.as_slice(),
        ActionDecl::Call(_)
        | ActionDecl::Exec { .. }
        | ActionDecl::Noop
        | ActionDecl::Unavailable(_) => &[],
    };
    let (with, taken) = match &step.action {
        // The function decides which needs it reads; it does not depend on optional ones.
        ActionDecl::Call(call) => (call.with.as_slice(), step.needs.as_slice()),
        ActionDecl::Script { .. }
        | ActionDecl::Exec { .. }
        | ActionDecl::Noop
        | ActionDecl::Unavailable(_) => (&[][..], &[][..]),
    };
    let with = with.iter().flat_map(|value| &value.value.reads);
    let env = step.settings.env.iter().flat_map(|variable| &variable.value.reads);
    let condition = step.condition.iter().flat_map(|condition| &condition.reads);
    let keyed = step.idempotency_key.iter().flat_map(|key| &key.reads);
    let reads = script.iter().chain(with).chain(env).chain(condition).chain(keyed);
    let reads = reads.filter(|read| read.path.first().is_some_and(|root| root == "steps"));
    let taken = taken.iter().filter(|need| !need.optional).map(|need| need.step.value.clone());
    reads.filter_map(|read| read.path.get(1).cloned()).chain(taken).collect()
}
