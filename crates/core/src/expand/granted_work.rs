//! Combines the work of a step with the values of its lease, for execution.

use serde_json::{Value, json};

use super::cell_name::cell_values;
use super::work::StepWork;
use crate::expr::{ExprScope, Template};
use crate::session::LeaseGrant;

/// A step's work and its lease.
#[derive(Clone, Copy, Debug)]
pub struct GrantedWork<'a> {
    /// The work.
    pub work: &'a StepWork,
    /// The granted lease.
    pub grant: &'a LeaseGrant,
}

impl GrantedWork<'_> {
    /// Returns the values that the step's templates can read.
    pub fn scope(&self) -> ExprScope {
        let values = self.grant.values.as_deref();
        let values = values.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let steps = values.map_or(Value::Null, |mut values| values["steps"].take());
        let run = json!({ "id": self.grant.lease.run.to_string() });
        self.work.scope(&self.grant.name, steps, run)
    }

    /// Returns the declared variables, and those for `${{ }}` in the script.
    pub fn variables(&self, scope: &ExprScope) -> Result<Vec<(String, String)>, String> {
        let named = self.work.env.iter().chain(&self.work.vars);
        named.map(|(name, value)| Ok((name.clone(), render(name, value, scope)?))).collect()
    }

    /// Returns the working directory, relative to the root of the pipeline.
    pub fn dir(&self, scope: &ExprScope) -> Result<Option<String>, String> {
        self.work.dir.as_ref().map(|dir| render("dir", dir, scope)).transpose()
    }

    /// Returns the patterns of the files with test results, relative to the root of the pipeline.
    pub fn junit_reports(&self, scope: &ExprScope) -> Result<Vec<String>, String> {
        let patterns = self.work.junit_reports.iter();
        patterns.map(|pattern| render("reports.junit", pattern, scope)).collect()
    }

    /// Returns the `WINDLASS_*` variables that identify the step.
    pub fn identity_variables(&self, worker: &str) -> Vec<(String, String)> {
        let grant = self.grant;
        let lease = grant.lease;
        let mut variables = vec![
            ("WINDLASS_RUN".to_owned(), lease.run.to_string()),
            ("WINDLASS_STEP".to_owned(), grant.name.to_string()),
            ("WINDLASS_ATTEMPT".to_owned(), lease.attempt.to_string()),
            ("WINDLASS_FENCE".to_owned(), lease.fence.0.to_string()),
            ("WINDLASS_IDEMPOTENCY_KEY".to_owned(), self.idempotency_key()),
            ("WINDLASS_WORKER".to_owned(), worker.to_owned()),
        ];
        for (axis, value) in cell_values(&grant.name, &self.work.axes) {
            let axis = axis.to_uppercase().replace('-', "_");
            variables.push((format!("WINDLASS_MATRIX_{axis}"), value));
        }
        variables
    }

    /// Returns a key that is the same for every attempt, delivery, resumption and rerun of the step.
    pub fn idempotency_key(&self) -> String {
        let named = format!("{}/{}", self.grant.root, self.grant.name);
        blake3::hash(named.as_bytes()).to_hex()[..32].to_owned()
    }
}

fn render(name: &str, template: &Template, scope: &ExprScope) -> Result<String, String> {
    template.render(scope).map_err(|error| format!("`{name}`: {error}"))
}
