//! A typed step behind the interface that workers call.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use windlass_core::expand::WorkAction;
use windlass_core::spec::CallableStep;
use windlass_core::step_failure::{StepFailure, StepFailureKind};
use windlass_worker::executors::{CallFuture, CallResult, CallRetry, Callee, StepCall};

use super::context::Context;
use super::error::Error;
use super::hand_on_result::hand_on_result;
use super::step::Step;

/// The function with which a step decides whether an error is retried, if it has one. The default of the pipeline is set
/// when the pipeline is complete.
pub(crate) type RetryPredicate = Arc<OnceLock<fn(&Error) -> bool>>;

/// A step that can be called by name.
pub(super) struct TypedCallee<S> {
    pub(super) step: Arc<S>,
    pub(super) signature: String,
    pub(super) decides: RetryPredicate,
    /// The parameters, to check calls that were planned by a program without this step.
    pub(super) takes: Arc<CallableStep>,
}

impl<S: Step> Callee for TypedCallee<S> {
    fn signature(&self) -> &str {
        &self.signature
    }

    fn call(&self, call: Arc<StepCall>) -> CallFuture {
        let (step, decides) = (Arc::clone(&self.step), Arc::clone(&self.decides));
        let takes = Arc::clone(&self.takes);
        Box::pin(async move {
            if let Some(why) = call_problems(&call, &takes) {
                return Err((StepFailure::new(StepFailureKind::Refused, why), CallRetry::ByPolicy));
            }
            let context = Context::new(Arc::clone(&call));
            outcome_of(&call, step.run(&context).await, &decides).await
        })
    }
}

/// Turns the result of a function into the result of the call.
pub(crate) async fn outcome_of<T: Serialize + Send + Sync + 'static>(
    call: &StepCall,
    result: Result<T, Error>,
    decides: &RetryPredicate,
) -> CallResult {
    match result {
        Ok(result) => {
            let handed = hand_on_result(call, result).await;
            handed.map_err(|failure| (failure, CallRetry::ByPolicy))
        }
        Err(error) => {
            let again = decides.get().is_some_and(|decides| decides(&error));
            let retry = if again { CallRetry::Yes } else { CallRetry::ByPolicy };
            Err((error.to_failure(), retry))
        }
    }
}

/// Every problem of a call in a file. A call with a signature was checked by the program that has the step; a call by name
/// alone may have been planned by another program.
fn call_problems(call: &StepCall, takes: &CallableStep) -> Option<String> {
    let WorkAction::Call { name, signature: None, with } = &call.work.action else { return None };
    let given = |name: &str| with.iter().any(|(known, _)| known == name);
    let is_known = |name: &str| {
        takes.with.iter().any(|(known, _)| known == name)
            || takes.needs.iter().any(|need| need.step == name)
    };
    let values = takes.with.iter().filter(|(name, may)| !may && !given(name));
    let values = values.map(|(name, _)| format!("it takes a value `{name}`"));
    let needs = takes.needs.iter().filter(|it| !given(&it.step) && call.need(&it.step).is_null());
    let needs =
        needs.map(|it| format!("it takes the result of `{0}`, and does not need `{0}`", it.step));
    let strange = with.iter().filter(|(name, _)| !is_known(name));
    let strange = strange.map(|(name, _)| format!("it takes no value `{name}`"));
    let wrong: Vec<String> = values.chain(needs).chain(strange).collect();
    (!wrong.is_empty()).then(|| {
        let wrong = wrong.join("; ");
        format!("the call of `{name}` is invalid: {wrong}. Submit the file with the program that has `{name}` to see this before the run")
    })
}

impl<S: Step> fmt::Debug for TypedCallee<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", S::NAME, self.signature)
    }
}
