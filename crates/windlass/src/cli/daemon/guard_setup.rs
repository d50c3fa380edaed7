//! The setup of a process that runs steps: its guard, and the settings of its steps.

use std::io;
use std::path::Path;

use windlass_core::environment::EnvironmentPolicy;
use windlass_worker::artifacts::ObjectAccess;
use windlass_worker::executors::{ExecutorSettings, MaskCache, clear, process_environment};
use windlass_worker::guard::GuardHandle;
use windlass_worker::{GuardLock, GuardLockIdentity, StateDirectory, StateDirectoryError};

use crate::cli::error::CliError;

/// Starts the guard of a worker in its leader's process; these leases do not expire.
pub(super) async fn guard(
    state: &StateDirectory,
) -> Result<(GuardHandle, GuardLockIdentity), CliError> {
    let (lock, identity) = take_lock(state).await?;
    Ok((kept(state, GuardHandle::start_holding(lock).await)?, identity))
}

/// Starts the guard of a worker whose leases expire: each step has a tether.
pub(super) async fn guard_with_tethers(
    state: &StateDirectory,
) -> Result<(GuardHandle, GuardLockIdentity), CliError> {
    let (lock, identity) = take_lock(state).await?;
    Ok((kept(state, GuardHandle::start_with_tethers(lock).await)?, identity))
}

/// Takes the lock that the guard will hold. First kills processes that an earlier guard left alive: they may hold
/// locks.
async fn take_lock(state: &StateDirectory) -> Result<(GuardLock, GuardLockIdentity), CliError> {
    state.kill_strays().await?;
    Ok(state.take_guard_lock().await?)
}

fn kept(state: &StateDirectory, started: io::Result<GuardHandle>) -> Result<GuardHandle, CliError> {
    let guard = started.map_err(|error| {
        CliError::unreachable(format!("the guard process cannot start: {error}"))
    })?;
    state.keep_guard(&guard)?;
    Ok(guard)
}

/// The settings of a worker's steps: folder, worker name and passed environment.
pub(super) fn executor_settings(
    state: &StateDirectory,
    root: &Path,
    (name, policy): (&str, &EnvironmentPolicy),
    objects: ObjectAccess,
) -> ExecutorSettings {
    let scratch = state.scratch();
    clear(&scratch);
    ExecutorSettings {
        root: root.to_owned(),
        scratch,
        worker: name.to_owned(),
        environment: process_environment(),
        policy: policy.clone(),
        objects,
        masks: MaskCache::default(),
    }
}

impl From<StateDirectoryError> for CliError {
    fn from(error: StateDirectoryError) -> Self {
        let complaint = Self::unreachable(error.to_string());
        match error {
            StateDirectoryError::InUse { .. } => {
                complaint.hint("give it another folder with `--state FOLDER`")
            }
            StateDirectoryError::Unusable { .. } => complaint,
        }
    }
}
