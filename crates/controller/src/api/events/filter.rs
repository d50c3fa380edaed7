//! The filter of the cluster's events.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::Deserialize;
use windlass_core::engine::Event;
use windlass_core::id::RunId;

use crate::SseFrame;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;

/// The most runs for which a stream remembers whether they belong to its pipeline.
const REMEMBERED_MAX: usize = 1_024;

/// The filters in a request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EventFilterQuery {
    /// Types of events, separated by commas.
    #[serde(rename = "type")]
    pub(super) kinds: Option<String>,
    pub(super) run: Option<String>,
    pub(super) pipeline: Option<String>,
}

/// Selects the requested events.
#[derive(Debug, Default)]
pub(super) struct ApiEventFilter {
    /// Empty: all types.
    kinds: Vec<&'static str>,
    run: Option<RunId>,
    pipeline: Option<String>,
    /// Whether a run belongs to the pipeline.
    known: BTreeMap<RunId, bool>,
}

impl ApiEventFilter {
    /// Creates the filter of a request. An unknown type is refused.
    pub(super) fn new(wanted: EventFilterQuery) -> Result<Self, ApiError> {
        let kind = |word: &str| {
            let known = Event::KINDS.into_iter().find(|kind| *kind == word);
            known.ok_or_else(|| {
                ApiError::bad_request(format!(
                    "`type={word}`: there are no such events; see docs/reference/events.md"
                ))
            })
        };
        let kinds = wanted.kinds.as_deref().unwrap_or_default().split(',');
        let kinds = kinds.filter(|word| !word.is_empty()).map(kind).collect::<Result<_, _>>()?;
        let run = wanted.run.map(|text| {
            let run = RunId::parse(&text);
            run.ok_or_else(|| ApiError::bad_request(format!("`run={text}` is no id of a run")))
        });
        let (run, known) = (run.transpose()?, BTreeMap::new());
        Ok(Self { kinds, run, pipeline: wanted.pipeline, known })
    }

    /// Whether the filter selects all events.
    pub(super) fn is_open(&self) -> bool {
        self.kinds.is_empty() && self.run.is_none() && self.pipeline.is_none()
    }

    /// Looks up which of these runs belong to the pipeline, if there is such a filter.
    pub(super) async fn learn(
        &mut self,
        api: &Api,
        frames: impl Iterator<Item = &SseFrame>,
    ) -> Result<(), ApiError> {
        let Some(pipeline) = &self.pipeline else { return Ok(()) };
        if self.known.len() >= REMEMBERED_MAX {
            self.known.clear();
        }
        for run in frames.filter_map(|frame| frame.run) {
            if let Entry::Vacant(unknown) = self.known.entry(run) {
                unknown.insert(is_of(api, run, pipeline).await?);
            }
        }
        Ok(())
    }

    /// Whether the filter selects an event.
    pub(super) fn lets(&self, frame: &SseFrame) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&frame.kind))
            && self.run.is_none_or(|run| frame.run == Some(run))
            && (self.pipeline.is_none() || frame.run.is_some_and(|run| self.is_known(run)))
    }

    fn is_known(&self, run: RunId) -> bool {
        self.known.get(&run).copied().unwrap_or(false)
    }
}

/// Whether a run belongs to a pipeline. It is in the engine until it is sealed, and in the archive before that.
async fn is_of(api: &Api, run: RunId, pipeline: &str) -> Result<bool, ApiError> {
    let open = api.handle.views().with(|view| {
        let run = view.engine.run(run)?;
        Some(run.pipeline() == pipeline)
    });
    if let Some(is_of_it) = open {
        return Ok(is_of_it);
    }
    let sealed = api.stores.archive.run(run).await?;
    Ok(sealed.is_some_and(|record| record.pipeline == pipeline))
}
