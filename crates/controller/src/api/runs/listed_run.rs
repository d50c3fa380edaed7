//! A run in a list of runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use windlass_core::id::RunId;
use windlass_core::json_form::{AsText, AsWord};
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::PlanFingerprint;
use windlass_core::report::UtcTime;
use windlass_store::archive::RunRecord;

use crate::api::api_state::Api;

/// A run in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub(in crate::api) struct ListedRunBody {
    /// The id of the run.
    id: AsText<RunId>,
    /// The name of its pipeline.
    pipeline: String,
    /// The fingerprint of its plan; left out once the run is archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<AsText<PlanFingerprint>>,
    /// The status of the run.
    status: AsWord<RunStatus>,
    /// When it was submitted.
    created_at: UtcTime,
    /// When it ended; null while it goes on.
    ended_at: Option<UtcTime>,
    /// The number of its steps.
    steps: u32,
    /// The number of its steps by status; left out once the run is archived.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<BTreeMap<AsWord<StepStatus>, u32>>,
}

impl From<RunRecord> for ListedRunBody {
    fn from(record: RunRecord) -> Self {
        Self {
            id: AsText(record.run),
            pipeline: record.pipeline,
            fingerprint: None,
            status: AsWord(record.status),
            created_at: UtcTime(record.submitted_at),
            ended_at: Some(UtcTime(record.ended_at)),
            steps: record.steps,
            counts: None,
        }
    }
}

/// A run on the page.
#[derive(PartialEq)]
pub(super) enum RunListItem {
    Open(RunId),
    Sealed(Box<RunRecord>),
}

impl RunListItem {
    pub(super) fn run(&self) -> RunId {
        match self {
            Self::Open(run) => *run,
            Self::Sealed(record) => record.run,
        }
    }

    pub(super) fn body(self, api: &Api) -> Option<ListedRunBody> {
        match self {
            // One lock of the view per run: counting the steps of all runs under one lock would delay the leader.
            Self::Open(run) => open_run(api, run),
            Self::Sealed(record) => Some((*record).into()),
        }
    }
}

fn open_run(api: &Api, run: RunId) -> Option<ListedRunBody> {
    let ended = api.stores.histories.record(run).filter(|record| record.status.is_at_rest());
    let ended_at = ended.map(|record| UtcTime(record.ended_at));
    api.handle.views().with(|view| {
        let run = view.engine.run(run)?;
        let counts = run.counts();
        let counts = counts.iter().filter(|(_, count)| *count > 0);
        Some(ListedRunBody {
            id: AsText(run.id),
            pipeline: run.pipeline().to_owned(),
            fingerprint: Some(AsText(run.plan.fingerprint())),
            status: AsWord(run.status),
            created_at: UtcTime(run.submitted_at),
            ended_at,
            steps: run.plan.step_count(),
            counts: Some(counts.map(|(status, count)| (AsWord(status), count)).collect()),
        })
    })
}
