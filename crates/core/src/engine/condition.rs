//! Conditions on values: what an `if:` that reads outputs of needs comes to.

use serde_json::{Map, Value, json};

use super::event::Settled;
use super::run::Run;
use crate::expr::{Expression, Scope};
use crate::id::StepIx;
use crate::outcome::{Output, StepStatus};
use crate::plan::When;

impl Run {
    /// Whether a step waits for nothing but its condition on values.
    pub(super) fn asks(&self, step: StepIx) -> bool {
        let state = self.step(step);
        state.status == StepStatus::Waiting
            && state.remaining == 0
            && state.attempt == 1
            && state.delivery == 0
            && self.spec(step).when != When::Holds
    }

    /// How a step ends by its condition on values; `None` if that holds.
    pub(super) fn refused_by_values(&self, step: StepIx) -> Option<Settled> {
        let text = match &self.spec(step).when {
            When::Holds => return None,
            When::Fails(why) => return Some(Settled::SkippedByValues { why: why.clone() }),
            When::Asks(text) => text,
        };
        let scope = Scope::default().with("steps", self.values_for(step)["steps"].take());
        let decided = Expression::parse(text)
            .and_then(|expression| Ok((expression.holds(&scope)?, told(&expression, &scope))));
        match decided {
            Ok((true, _)) => None,
            Ok((false, values)) => {
                Some(Settled::SkippedByValues { why: format!("{text}  ({values})").into() })
            }
            Err(error) => {
                Some(Settled::FailedCondition { why: format!("`{text}`: {error}").into() })
            }
        }
    }

    /// What the nodes that a step reads have come to: `{"steps": {"build": {"status": …, "outputs": …}}}`. A matrix gives a
    /// list, one entry for each cell.
    pub(super) fn values_for(&self, step: StepIx) -> Value {
        let reads = self.spec(step).reads.iter();
        let steps: Map<String, Value> =
            reads.map(|node| (self.plan.name(*node).to_owned(), self.values_of(*node))).collect();
        json!({ "steps": steps })
    }

    fn values_of(&self, node: StepIx) -> Value {
        let status = self.step(node).status.word();
        if !self.plan.is_join(node) {
            return json!({ "status": status, "outputs": self.outputs_of(node) });
        }
        let cells = self.plan.needs(node).iter().map(|edge| edge.step());
        let cells: Vec<Value> = cells
            .map(|cell| {
                let status = self.step(cell).status.word();
                let name = self.plan.name(cell);
                json!({ "cell": name, "status": status, "outputs": self.outputs_of(cell) })
            })
            .collect();
        json!({ "status": status, "outputs": cells })
    }

    /// Outputs are a JSON object; of a step that has none, or too many to travel, they are null.
    fn outputs_of(&self, step: StepIx) -> Value {
        match self.outputs.get(&step) {
            Some(Output::Inline(text)) => serde_json::from_str(text).unwrap_or(Value::Null),
            Some(Output::None | Output::Digest { .. }) | None => Value::Null,
        }
    }
}

/// What an expression read, each value by its path.
fn told(expression: &Expression, scope: &Scope) -> String {
    let values = expression.paths().into_iter().filter_map(|used| {
        let path = used.path.join(".");
        let value = Expression::parse(&path).and_then(|path| path.evaluate(scope)).ok()?;
        Some(format!("{path} = {value}"))
    });
    values.collect::<Vec<String>>().join(", ")
}
