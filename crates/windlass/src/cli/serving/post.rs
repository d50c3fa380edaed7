//! What a process that runs steps has beside itself: a guard, and a place for its steps.

use std::path::Path;

use crate::cli::environment;
use crate::cli::error::CliError;
use crate::worker::executors::{Place, clear};
use crate::worker::guard::Guard;
use crate::worker::{State, StateError};

/// Starts the guard of a worker that lives in a state directory.
pub(super) async fn guard(state: &State) -> Result<Guard, CliError> {
    let guard = Guard::start().await.map_err(|error| {
        CliError::unreachable(format!("the process that starts steps cannot be started: {error}"))
    })?;
    state.keep_guard(&guard)?;
    Ok(guard)
}

/// Where the steps of a worker run: in a folder, under its name.
pub(super) fn place(state: &State, root: &Path, name: &str) -> Place {
    let scratch = state.scratch();
    clear(&scratch);
    Place {
        root: root.to_owned(),
        scratch,
        worker: name.to_owned(),
        environment: environment::all(),
    }
}

impl From<StateError> for CliError {
    fn from(error: StateError) -> Self {
        let complaint = Self::unreachable(error.to_string());
        match error {
            StateError::InUse { .. } => complaint.hint("`--state FOLDER` gives it another place"),
            StateError::Unusable { .. } => complaint,
        }
    }
}
