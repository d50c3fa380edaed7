//! The folder of an attempt: prepared with its files before the step starts, removed after it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OnceCell, watch};
use tokio::time::timeout;
use windlass_core::expand::GrantedWork;
use windlass_core::files::{FILES_WITHIN, WorkspaceSource};
use windlass_core::time::Time;
use windlass_store::objects::MemoryObjects;

use super::builtin_executor::ExecutorSettings;
use crate::artifacts::{ArtifactTarget, AttemptFilesError, fetch_artifacts};
use crate::executor::AttemptOrders;
use crate::workspaces::{Workspace, WorkspaceError, WorkspaceSettings, Workspaces};

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

impl AttemptWorkspaces {
    /// Prepares the folder of an attempt, unless it is ordered to stop before.
    pub(super) async fn prepare(
        &self,
        granted: GrantedWork<'_>,
        settings: &ExecutorSettings,
        mut orders: watch::Receiver<AttemptOrders>,
    ) -> Result<AttemptWorkspace, AttemptFilesError> {
        let within = Duration::from_millis(FILES_WITHIN.as_millis());
        let prepared = tokio::select! {
            prepared = timeout(within, self.prepare_files(granted, settings)) => {
                prepared.unwrap_or_else(|_| {
                    let why = format!("its files were not there within {FILES_WITHIN}");
                    Err(AttemptFilesError::Unavailable(why))
                })
            }
            _ = orders.wait_for(AttemptOrders::is_not_to_begin) => Err(AttemptFilesError::Stopped),
        };
        if prepared.is_err() && granted.work.workspace.is_made_per_attempt() {
            self.remove_left_over();
        }
        prepared
    }

    /// Removes the folders of attempts that were given up while they were prepared.
    fn remove_left_over(&self) {
        let Some(workspaces) = self.opened.get().cloned() else { return };
        tokio::spawn(async move { workspaces.sweep_left_over().await });
    }

    async fn prepare_files(
        &self,
        granted: GrantedWork<'_>,
        settings: &ExecutorSettings,
    ) -> Result<AttemptWorkspace, AttemptFilesError> {
        let workspace = match &granted.work.workspace {
            WorkspaceSource::Here => AttemptWorkspace { root: settings.root.clone(), made: None },
            WorkspaceSource::Shared(_)
            | WorkspaceSource::None
            | WorkspaceSource::Snapshot(_)
            | WorkspaceSource::Git(_) => self.open_folder(granted, settings).await?,
        };
        let target = if granted.work.workspace.is_made_per_attempt() {
            ArtifactTarget::OfAttempt(&workspace.root)
        } else {
            ArtifactTarget::Shared(&workspace.root)
        };
        fetch_artifacts(&settings.objects, granted, target).await?;
        Ok(workspace)
    }

    async fn open_folder(
        &self,
        granted: GrantedWork<'_>,
        settings: &ExecutorSettings,
    ) -> Result<AttemptWorkspace, AttemptFilesError> {
        let source = &granted.work.workspace;
        let store = match settings.objects.store() {
            Ok(store) => store,
            Err(why) if matches!(source, WorkspaceSource::Snapshot(_)) => {
                return Err(AttemptFilesError::Refused(why));
            }
            // An empty folder needs no store.
            Err(_) => Arc::new(MemoryObjects::with_capacity(0, || Time::ZERO)),
        };
        let open = || Workspaces::open(WorkspaceSettings::new(settings.scratch.clone(), store));
        let unavailable = |error: WorkspaceError| AttemptFilesError::Unavailable(error.to_string());
        let workspaces = self.opened.get_or_try_init(open).await.map_err(unavailable)?;
        let prepared = workspaces.prepare(source, &granted.grant.lease, None).await;
        let made = prepared.map_err(unavailable)?;
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
