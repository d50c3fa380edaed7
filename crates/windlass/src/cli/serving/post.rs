//! What a process that runs steps has beside itself: a guard, and a place for its steps.

use std::io;
use std::path::Path;

use windlass_core::environment::EnvironmentPolicy;

use crate::cli::error::CliError;
use crate::worker::executors::{MaskCache, Place, clear, process_environment};
use crate::worker::guard::Guard;
use crate::worker::{GuardLock, GuardPlace, State, StateError};

/// Starts the guard of a worker in its leader's process, whose leases do not expire.
pub(super) async fn guard(state: &State) -> Result<(Guard, GuardPlace), CliError> {
    let (lock, place) = take_lock(state).await?;
    Ok((kept(state, Guard::start_holding(lock).await)?, place))
}

/// Starts the guard of a worker whose leases expire: each step hangs on a tether.
pub(super) async fn guard_with_tethers(state: &State) -> Result<(Guard, GuardPlace), CliError> {
    let (lock, place) = take_lock(state).await?;
    Ok((kept(state, Guard::start_with_tethers(lock).await)?, place))
}

/// Takes the lock that the guard of this life is to hold. Processes that a former guard left alive are killed first: they may
/// hold locks.
async fn take_lock(state: &State) -> Result<(GuardLock, GuardPlace), CliError> {
    state.kill_strays().await?;
    Ok(state.take_guard_lock().await?)
}

fn kept(state: &State, started: io::Result<Guard>) -> Result<Guard, CliError> {
    let guard = started.map_err(|error| {
        CliError::unreachable(format!("the process that starts steps cannot be started: {error}"))
    })?;
    state.keep_guard(&guard)?;
    Ok(guard)
}

/// Where the steps of a worker run: in a folder, under its name, with what it passes on of its environment.
pub(super) fn place(
    state: &State,
    root: &Path,
    (name, policy): (&str, &EnvironmentPolicy),
) -> Place {
    let scratch = state.scratch();
    clear(&scratch);
    Place {
        root: root.to_owned(),
        scratch,
        worker: name.to_owned(),
        environment: process_environment(),
        policy: policy.clone(),
        masks: MaskCache::default(),
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
