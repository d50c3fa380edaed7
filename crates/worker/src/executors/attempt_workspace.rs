//! The folder of an attempt: prepared with its files before the step starts, removed after it.

use std::path::{Path, PathBuf};

use tokio::sync::{OnceCell, watch};
use windlass_core::expand::{GrantedWork, StepWork};
use windlass_core::session::LeaseGrant;

use super::builtin_executor::ExecutorSettings;
use crate::artifacts::{ExistingFiles, fetch_artifacts};
use crate::executor::AttemptOrders;
use crate::workspaces::{Workspace, WorkspaceSettings, Workspaces};

/// The workspaces of an executor, opened when a step first needs one: most runs need none.
#[derive(Debug, Default)]
pub(super) struct AttemptWorkspaces {
    opened: OnceCell<Workspaces>,
}

/// The folder of an attempt, with the files that the step gets.
#[derive(Debug)]
pub(super) struct AttemptWorkspace {
    root: PathBuf,
    /// The folder that was made for the attempt, if any.
    made: Option<Workspace>,
}

/// Why an attempt has no folder with its files.
#[derive(Debug)]
pub(super) enum AttemptFilesError {
    /// It was ordered to stop.
    Stopped,
    /// The files are not available.
    Unavailable(String),
}

impl AttemptWorkspaces {
    /// Prepares the folder of an attempt, unless it is ordered to stop before.
    pub(super) async fn prepare(
        &self,
        granted: (&LeaseGrant, &StepWork),
        settings: &ExecutorSettings,
        mut orders: watch::Receiver<AttemptOrders>,
    ) -> Result<AttemptWorkspace, AttemptFilesError> {
        tokio::select! {
            prepared = self.prepare_files(granted, settings) => {
                prepared.map_err(AttemptFilesError::Unavailable)
            }
            _ = orders.wait_for(AttemptOrders::is_not_to_begin) => Err(AttemptFilesError::Stopped),
        }
    }

    async fn prepare_files(
        &self,
        (grant, work): (&LeaseGrant, &StepWork),
        settings: &ExecutorSettings,
    ) -> Result<AttemptWorkspace, String> {
        let workspace = if work.workspace.is_here() {
            AttemptWorkspace { root: settings.root.clone(), made: None }
        } else {
            self.open_folder((grant, work), settings).await?
        };
        let existing = if work.workspace.is_made_per_attempt() {
            ExistingFiles::AreReplaced
        } else {
            ExistingFiles::Stay
        };
        let granted = GrantedWork { work, grant };
        let fetched = fetch_artifacts(&settings.objects, granted, &workspace.root, existing).await;
        match fetched {
            Ok(()) => Ok(workspace),
            Err(why) => {
                workspace.remove();
                Err(why)
            }
        }
    }

    async fn open_folder(
        &self,
        (grant, work): (&LeaseGrant, &StepWork),
        settings: &ExecutorSettings,
    ) -> Result<AttemptWorkspace, String> {
        let open = || async {
            let store = settings.objects.store()?;
            let settings = WorkspaceSettings::new(settings.scratch.clone(), store);
            Workspaces::open(settings).await.map_err(|error| error.to_string())
        };
        let workspaces = self.opened.get_or_try_init(open).await?;
        let prepared = workspaces.prepare(&work.workspace, &grant.lease, None).await;
        let made = prepared.map_err(|error| error.to_string())?;
        let root = made.path().unwrap_or(&settings.root).to_owned();
        Ok(AttemptWorkspace { root, made: Some(made) })
    }
}

impl AttemptWorkspace {
    /// The root of the workspace.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Removes the folder, if it was made for the attempt. The outcome does not wait for it.
    pub(super) fn remove(self) {
        let Some(made) = self.made else { return };
        // If it fails, the next start of the worker removes the folder.
        tokio::spawn(async move { drop(made.remove().await) });
    }
}
