//! From a step's work and the values that came with its lease to a command and its environment.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_core::expand::{Action, Work, cell_values};
use windlass_core::expr::{Scope, Template};
use windlass_core::session::Grant;

use super::builtin::Place;
use super::files::Files;
use super::shells;
use crate::worker::masks::Masks;

/// Who runs what, where.
#[derive(Clone, Copy)]
pub(super) struct Identity<'a> {
    pub(super) place: &'a Place,
    pub(super) grant: &'a Grant,
}

/// A command that is ready to be started.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) argv: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    /// Variables of the worker that its steps must not see.
    pub(super) removed: Vec<String>,
    pub(super) dir: PathBuf,
    pub(super) masks: Masks,
    pub(super) outputs: Vec<String>,
    pub(super) files: Files,
}

impl Prepared {
    /// Fills in what the work leaves open, or says why that is not possible.
    pub(super) fn new(work: &Work, identity: Identity<'_>) -> Result<Self, String> {
        let Identity { place, grant } = identity;
        let argv = match &work.action {
            Action::Exec { argv } => argv.clone(),
            Action::Script { text, shell } => shells::command(shell.as_deref(), text)?,
            Action::Noop => Vec::new(),
            Action::Unavailable { key } => {
                return Err(format!("`{key}` is not available in this version of windlass"));
            }
        };
        let scope = scope(work, grant);
        let secrets = secrets(work, place)?;
        let named = secrets.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let masks = Masks::new(named).map_err(|error| error.to_string())?;
        let files = Files::new(&place.scratch, grant.lease.fence);
        let mut env = rendered(work, &scope)?;
        env.extend(secrets);
        env.extend(identity.variables(work));
        env.push(("WINDLASS_OUTPUT".to_owned(), files.output.display().to_string()));
        env.push(("WINDLASS_SUMMARY".to_owned(), files.draft.display().to_string()));
        let dir = match &work.dir {
            Some(dir) => place.root.join(render("dir", dir, &scope)?),
            None => place.root.clone(),
        };
        let outputs = work.outputs.clone();
        let removed = place.environment.iter().map(|(name, _)| name.clone());
        let removed = removed.filter(|name| name.starts_with("WINDLASS_")).collect();
        Ok(Self { argv, env, removed, dir, masks, outputs, files })
    }
}

impl Identity<'_> {
    /// What every step is told about itself.
    fn variables(&self, work: &Work) -> Vec<(String, String)> {
        let Self { place, grant } = self;
        let lease = grant.lease;
        let mut variables = vec![
            ("WINDLASS_RUN".to_owned(), lease.run.to_string()),
            ("WINDLASS_STEP".to_owned(), grant.name.to_string()),
            ("WINDLASS_ATTEMPT".to_owned(), lease.attempt.to_string()),
            ("WINDLASS_FENCE".to_owned(), lease.fence.0.to_string()),
            ("WINDLASS_IDEMPOTENCY_KEY".to_owned(), self.idempotency_key()),
            ("WINDLASS_WORKER".to_owned(), place.worker.clone()),
        ];
        for (axis, value) in cell_values(&grant.name, &work.axes) {
            let axis = axis.to_uppercase().replace('-', "_");
            variables.push((format!("WINDLASS_MATRIX_{axis}"), value));
        }
        variables
    }

    /// The same for every attempt, hand-out, resumption and rerun of the step.
    fn idempotency_key(&self) -> String {
        let named = format!("{}/{}", self.grant.root, self.grant.name);
        blake3::hash(named.as_bytes()).to_hex()[..32].to_owned()
    }
}

fn scope(work: &Work, grant: &Grant) -> Scope {
    let values = grant.values.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let steps = values.map_or(Value::Null, |mut values| values["steps"].take());
    let run = json!({ "id": grant.lease.run.to_string() });
    work.scope(&grant.name, steps, run)
}

fn rendered(work: &Work, scope: &Scope) -> Result<Vec<(String, String)>, String> {
    let named = work.env.iter().chain(&work.vars);
    named.map(|(name, value)| Ok((name.clone(), render(name, value, scope)?))).collect()
}

fn render(name: &str, template: &Template, scope: &Scope) -> Result<String, String> {
    template.render(scope).map_err(|error| format!("`{name}`: {error}"))
}

fn secrets(work: &Work, place: &Place) -> Result<Vec<(String, String)>, String> {
    let find = |name: &String| {
        let mut known = place.environment.iter().filter(|(known, _)| known == name);
        let found = known.next().cloned();
        found.ok_or_else(|| {
            format!("secret {name} is not in the environment of worker {}", place.worker)
        })
    };
    work.secrets.iter().map(find).collect()
}
