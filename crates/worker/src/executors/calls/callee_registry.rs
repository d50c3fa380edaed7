//! The functions of a program, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::runtime;
use windlass_core::expand::WorkAction;
use windlass_core::outcome::StepOutput;
use windlass_core::step_failure::StepFailure;

use super::step_call::StepCall;

/// The result of a function.
pub type CallResult = Result<StepOutput, (StepFailure, CallRetry)>;

/// Whether a failure is worth another attempt, as far as the function knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallRetry {
    /// The retry policy of the step decides.
    ByPolicy,
    /// The function decides, and asks for another attempt.
    Yes,
}

/// A function under way.
pub type CallFuture = Pin<Box<dyn Future<Output = CallResult> + Send>>;

/// A step that is compiled in, with its types erased.
pub trait Callee: Send + Sync + fmt::Debug {
    /// Returns what distinguishes its types from those of other steps of its name.
    fn signature(&self) -> &str;

    /// Begins an attempt.
    fn call(&self, call: Arc<StepCall>) -> CallFuture;
}

/// The steps of a program, by name.
#[derive(Clone, Debug, Default)]
pub struct CalleeRegistry {
    by_name: BTreeMap<String, Arc<dyn Callee>>,
    /// The functions that run scripts of a shell of their own, by the shell's name.
    shells: BTreeMap<String, Arc<dyn Callee>>,
    /// The runtime in which they are polled. `None` for the runtime of the caller.
    pub(super) runtime: Option<runtime::Handle>,
}

impl CalleeRegistry {
    /// Adds a step.
    pub fn add(&mut self, name: &str, callee: Arc<dyn Callee>) {
        self.by_name.insert(name.to_owned(), callee);
    }

    /// Returns the step of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Callee>> {
        self.by_name.get(name)
    }

    /// Adds a function that runs the scripts of a shell.
    pub fn add_shell(&mut self, shell: &str, callee: Arc<dyn Callee>) {
        self.shells.insert(shell.to_owned(), callee);
    }

    /// Returns the function that runs an action, if the action is a script of a shell that is compiled in.
    pub fn shell_of(&self, action: &WorkAction) -> Option<&Arc<dyn Callee>> {
        let WorkAction::Script { shell: Some(shell), .. } = action else { return None };
        self.shells.get(shell.split_whitespace().next()?)
    }

    /// Adds all entries of another registry.
    pub fn extend(&mut self, others: Self) {
        self.by_name.extend(others.by_name);
        self.shells.extend(others.shells);
    }

    /// Returns whether the registry is empty.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty() && self.shells.is_empty()
    }

    /// Polls the functions in another runtime than the worker's, so that a function that blocks holds up only others
    /// like it.
    #[must_use]
    pub fn polled_in(self, runtime: runtime::Handle) -> Self {
        Self { runtime: Some(runtime), ..self }
    }

    /// Returns the labels of a worker that has these steps: `call=NAME`, `call=NAME@SIGNATURE` for a caller that wants
    /// these types, and `executor=SHELL`.
    pub fn labels(&self) -> impl Iterator<Item = String> {
        let steps = self.by_name.iter().flat_map(|(name, callee)| {
            [format!("call={name}"), format!("call={name}@{}", callee.signature())]
        });
        steps.chain(self.shells.keys().map(|shell| format!("executor={shell}")))
    }
}
