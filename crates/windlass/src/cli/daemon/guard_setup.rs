//! What a process that runs steps has beside itself: a guard, and a place for its steps.

use std::io;
use std::path::Path;

use windlass_core::environment::EnvironmentPolicy;

use crate::cli::error::CliError;
use crate::worker::executors::{ExecutorSettings, MaskCache, clear, process_environment};
use crate::worker::guard::GuardHandle;
use crate::worker::{GuardLock, GuardLockIdentity, StateDirectory, StateDirectoryError};

/// Starts the guard of a worker in its leader's process, whose leases do not expire.
pub(super) async fn guard(
    state: &StateDirectory,
) -> Result<(GuardHandle, GuardLockIdentity), CliError> {
    let (lock, place) = take_lock(state).await?;
    Ok((kept(state, GuardHandle::start_holding(lock).await)?, place))
}

/// Starts the guard of a worker whose leases expire: each step hangs on a tether.
pub(super) async fn guard_with_tethers(
    state: &StateDirectory,
) -> Result<(GuardHandle, GuardLockIdentity), CliError> {
    let (lock, place) = take_lock(state).await?;
    Ok((kept(state, GuardHandle::start_with_tethers(lock).await)?, place))
}

/// Takes the lock that the guard of this life is to hold. Processes that a former guard left alive are killed first: they may
/// hold locks.
async fn take_lock(state: &StateDirectory) -> Result<(GuardLock, GuardLockIdentity), CliError> {
    state.kill_strays().await?;
    Ok(state.take_guard_lock().await?)
}

fn kept(state: &StateDirectory, started: io::Result<GuardHandle>) -> Result<GuardHandle, CliError> {
    let guard = started.map_err(|error| {
        CliError::unreachable(format!("the process that starts steps cannot be started: {error}"))
    })?;
    state.keep_guard(&guard)?;
    Ok(guard)
}

/// Where the steps of a worker run: in a folder, under its name, with what it passes on of its environment.
pub(super) fn place(
    state: &StateDirectory,
    root: &Path,
    (name, policy): (&str, &EnvironmentPolicy),
) -> ExecutorSettings {
    let scratch = state.scratch();
    clear(&scratch);
    ExecutorSettings {
        root: root.to_owned(),
        scratch,
        worker: name.to_owned(),
        environment: process_environment(),
        policy: policy.clone(),
        masks: MaskCache::default(),
    }
}

impl From<StateDirectoryError> for CliError {
    fn from(error: StateDirectoryError) -> Self {
        let complaint = Self::unreachable(error.to_string());
        match error {
            StateDirectoryError::InUse { .. } => {
                complaint.hint("`--state FOLDER` gives it another place")
            }
            StateDirectoryError::Unusable { .. } => complaint,
        }
    }
}
