//! Evaluates conditions on values: an `if:` that reads the outputs of needs.

use serde_json::{Map, Value, json};

use crate::engine::event::StepSettlement;
use crate::engine::state::run::Run;
use crate::expr::{ExprPath, ExprScope, Expression};
use crate::id::StepIx;
use crate::outcome::{StepOutput, StepStatus, StepValue};
use crate::plan::ValueCondition;

/// Bytes of `{"cell": …, "status": …, "outputs": …},` without the values.
const VALUE_FRAME: usize = 48;

impl Run {
    /// Returns whether a step waits only for its condition on values, or for its key. A step that had begun when its run
    /// was interrupted requests its key again.
    pub(in crate::engine) fn awaits_value_condition(&self, step: StepIx) -> bool {
        let state = self.step(step);
        state.status == StepStatus::Waiting
            && state.remaining == 0
            && (!state.has_begun() || self.spec(step).idempotency.is_some())
            && self.spec(step).is_decided_after_needs()
    }

    /// Returns how a step ends by its condition on values; `None` if the condition holds.
    pub(in crate::engine) fn settled_by_values(&self, step: StepIx) -> Option<StepSettlement> {
        let when = &self.spec(step).when;
        if let ValueCondition::Fails(why) = when {
            return Some(StepSettlement::SkippedByValues { why: why.clone() });
        }
        let text = when.expression()?;
        let scope = ExprScope::default().with("steps", self.values_for(step)["steps"].take());
        let decided = Expression::parse(text).map_err(|error| error.to_string());
        let decided = decided.and_then(|expression| {
            self.can_read(&expression.paths())?;
            let holds = expression.evaluate_bool(&scope).map_err(|error| error.to_string())?;
            Ok((holds, describe_values(&expression, &scope)))
        });
        match decided {
            Ok((true, _)) => None,
            Ok((false, values)) => {
                Some(StepSettlement::SkippedByValues { why: format!("{text}  ({values})").into() })
            }
            Err(error) => {
                Some(StepSettlement::FailedCondition { why: format!("`{text}`: {error}").into() })
            }
        }
    }

    /// Checks that all of these paths can be read here. A path into a result that is stored elsewhere cannot.
    pub(in crate::engine) fn can_read(&self, paths: &[ExprPath]) -> Result<(), String> {
        for used in paths {
            let [steps, name, outputs, ..] = used.path.as_slice() else { continue };
            if steps != "steps" || outputs != "outputs" {
                continue;
            }
            let kept = self.plan.find(name).and_then(|node| self.large_values(node).next());
            if let Some(kept) = kept {
                return Err(format!(
                    "the result of `{name}` is {kept}, where no condition and no key can read it: \
                     pass the needed part as a small output of another step"
                ));
            }
        }
        Ok(())
    }

    /// Returns the values of the nodes that a step reads: `{"steps": {"build": {"status": …, "outputs": …}}}`. A matrix
    /// has a list with one entry per cell.
    pub(in crate::engine) fn values_for(&self, step: StepIx) -> Value {
        let reads = self.spec(step).reads.iter();
        let steps: Map<String, Value> =
            reads.map(|node| (self.plan.name(*node).to_owned(), self.values_of(*node))).collect();
        json!({ "steps": steps })
    }

    /// Returns the approximate bytes of a step's grant: its name, its work, and the values that it reads.
    pub(in crate::engine) fn grant_input_bytes(&self, step: StepIx) -> usize {
        let reads = self.spec(step).reads.iter();
        let values: usize = reads.map(|node| self.values_size(*node)).sum();
        self.plan.name(step).len() + self.plan.work(step).len() + values
    }

    fn values_size(&self, node: StepIx) -> usize {
        let size = |node: StepIx| {
            let outputs = self.outputs.get(&node).map_or(0, StepOutput::len);
            self.plan.name(node).len() + outputs + VALUE_FRAME
        };
        let cells = self.plan.needs(node).iter().filter(|_| self.plan.is_join(node));
        size(node) + cells.map(|edge| size(edge.step())).sum::<usize>()
    }

    fn values_of(&self, node: StepIx) -> Value {
        let status = self.step(node).status.word();
        if !self.plan.is_join(node) {
            return self.with_outputs(json!({ "status": status }), node);
        }
        let cells = self.plan.needs(node).iter().map(|edge| edge.step());
        let cells: Vec<Value> = cells
            .map(|cell| {
                let status = self.step(cell).status.word();
                let name = self.plan.name(cell);
                self.with_outputs(json!({ "cell": name, "status": status }), cell)
            })
            .collect();
        json!({ "status": status, "outputs": cells })
    }

    /// Adds the outputs, a JSON object, to an entry; they are null if the step has none. They are also null for a
    /// result that is stored elsewhere: `kept` says where, and the worker that executes the step fetches it. `artifacts`
    /// is the manifest of its files.
    fn with_outputs(&self, mut entry: Value, step: StepIx) -> Value {
        entry["outputs"] = Value::Null;
        let Some(output) = self.outputs.get(&step) else { return entry };
        match &output.value {
            StepValue::None => {}
            StepValue::Inline(text) => {
                entry["outputs"] = serde_json::from_str(text).unwrap_or(Value::Null);
            }
            StepValue::Kept(kept) => {
                entry["kept"] = serde_json::to_value(&**kept).expect("numbers and texts are JSON");
            }
        }
        if let Some(artifacts) = output.artifacts {
            entry["artifacts"] = artifacts.to_string().into();
        }
        entry
    }
}

/// Returns the values that an expression read, each by its path.
fn describe_values(expression: &Expression, scope: &ExprScope) -> String {
    let values = expression.paths().into_iter().filter_map(|used| {
        let path = used.path.join(".");
        let value = Expression::parse(&path).and_then(|path| path.evaluate(scope)).ok()?;
        Some(format!("{path} = {value}"))
    });
    values.collect::<Vec<String>>().join(", ")
}
