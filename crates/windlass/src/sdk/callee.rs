//! A step with its types hidden.

use std::fmt;
use std::sync::Arc;

use super::context::Context;
use super::error::Error;
use super::handed::hand_on;
use super::step::Step;
use crate::worker::executors::{Call, Callee, Calling, Retry};

/// A step that can be called by name.
pub(super) struct TypedCallee<S> {
    pub(super) step: Arc<S>,
    pub(super) signature: String,
    pub(super) retries: Option<fn(&Error) -> bool>,
}

impl<S: Step> Callee for TypedCallee<S> {
    fn signature(&self) -> &str {
        &self.signature
    }

    fn call(&self, call: Arc<Call>) -> Calling {
        let (step, retries) = (Arc::clone(&self.step), self.retries);
        Box::pin(async move {
            let context = Context::new(Arc::clone(&call));
            match step.run(&context).await {
                Ok(result) => {
                    let handed = hand_on(&call, result).await;
                    handed.map_err(|failure| (failure, Retry::AsRuled))
                }
                Err(error) => {
                    let again = retries.is_some_and(|retries| retries(&error));
                    let retry = if again { Retry::Yes } else { Retry::AsRuled };
                    Err((error.to_failure(), retry))
                }
            }
        })
    }
}

impl<S: Step> fmt::Debug for TypedCallee<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", S::NAME, self.signature)
    }
}
