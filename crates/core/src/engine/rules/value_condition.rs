//! Conditions on values: what an `if:` that reads outputs of needs comes to.

use serde_json::{Map, Value, json};

use crate::engine::event::StepSettlement;
use crate::engine::state::run::Run;
use crate::expr::{ExprPath, ExprScope, Expression};
use crate::id::StepIx;
use crate::outcome::{StepOutput, StepStatus};
use crate::plan::ValueCondition;

/// Bytes of `{"cell": …, "status": …, "outputs": …},` beside what stands for the dots.
const VALUE_FRAME: usize = 48;

impl Run {
    /// Whether a step waits for nothing but its condition on values.
    pub(in crate::engine) fn awaits_value_condition(&self, step: StepIx) -> bool {
        let state = self.step(step);
        state.status == StepStatus::Waiting
            && state.remaining == 0
            && state.attempt == 1
            && state.delivery == 0
            && self.spec(step).is_decided_after_needs()
    }

    /// How a step ends by its condition on values; `None` if that holds.
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

    /// Whether all of these can be read here, or why not: one leads into a result that is kept elsewhere.
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
                     have a step of its own hand on what is to be read"
                ));
            }
        }
        Ok(())
    }

    /// What the nodes that a step reads have come to: `{"steps": {"build": {"status": …, "outputs": …}}}`. A matrix gives a
    /// list, one entry for each cell.
    pub(in crate::engine) fn values_for(&self, step: StepIx) -> Value {
        let reads = self.spec(step).reads.iter();
        let steps: Map<String, Value> =
            reads.map(|node| (self.plan.name(*node).to_owned(), self.values_of(*node))).collect();
        json!({ "steps": steps })
    }

    /// Bytes of what a step is handed: its name, its work, and about those of the values that it reads.
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

    /// Outputs are a JSON object; of a step that has none they are null. Of one whose result is kept elsewhere they are
    /// null too, and `kept` says where: whoever executes the step fetches it.
    fn with_outputs(&self, mut entry: Value, step: StepIx) -> Value {
        entry["outputs"] = match self.outputs.get(&step) {
            Some(StepOutput::Inline(text)) => serde_json::from_str(text).unwrap_or(Value::Null),
            Some(StepOutput::None | StepOutput::Digest { .. } | StepOutput::Kept(_)) | None => {
                Value::Null
            }
        };
        if let Some(StepOutput::Kept(kept)) = self.outputs.get(&step) {
            entry["kept"] = serde_json::to_value(&**kept).expect("numbers and texts are JSON");
        }
        entry
    }
}

/// What an expression read, each value by its path.
fn describe_values(expression: &Expression, scope: &ExprScope) -> String {
    let values = expression.paths().into_iter().filter_map(|used| {
        let path = used.path.join(".");
        let value = Expression::parse(&path).and_then(|path| path.evaluate(scope)).ok()?;
        Some(format!("{path} = {value}"))
    });
    values.collect::<Vec<String>>().join(", ")
}
