//! A run that a controller made: told, and watched if that is wanted.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::runtime::Runtime;
use windlass_core::id::RunId;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output::{self, ColorRole};
use crate::cli::remote_watch::{RemoteWatch, WatchOutput};
use crate::cli::run_source::{ClusterClient, RemoteRunSource, RunSource as _};
use crate::link::http::{HttpRequest, KEY_HEADER};
use crate::random;

/// How long a controller may take to plan a large pipeline.
const PLANS_WITHIN: Duration = Duration::from_secs(45);

/// What a controller makes of a submission.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct SubmitResponse {
    id: String,
    warnings: Vec<String>,
    known: bool,
}

/// What is done when a run was made.
#[derive(Clone, Debug)]
pub(super) struct SubmitFollowUp<'a> {
    /// Whether it is watched.
    pub(super) wait: bool,
    /// What is printed of it.
    pub(super) prints: WatchOutput,
    /// Steps that the user named.
    pub(super) named: Vec<String>,
    pub(super) context: &'a CommandContext,
}

impl SubmitResponse {
    /// Has a controller make a run, once: under the user's key, or one that nobody else has.
    pub(super) async fn request_run(
        controller: &ClusterClient,
        path: &str,
        body: &Value,
        key: Option<&str>,
    ) -> Result<Self, CliError> {
        // A request whose answer was lost is made again: without a key it would be a second run.
        let once = format!("once-{}", random::random_hex());
        let headers = [(KEY_HEADER, key.unwrap_or(&once))];
        let ask = HttpRequest::post(controller.place(), path, body).with(&headers);
        let answered = controller.call(ask, PLANS_WITHIN).await?;
        let submitted: Self = controller.read(&answered)?;
        Ok(Self { known: submitted.known && key.is_some(), ..submitted })
    }

    /// Tells of the run, and watches what becomes of it if that is wanted.
    pub(super) fn report_and_watch(
        self,
        controller: ClusterClient,
        runtime: &Runtime,
        then: SubmitFollowUp<'_>,
    ) -> Result<u8, CliError> {
        let run = RunId::parse(&self.id);
        let run = run.ok_or_else(|| controller.unexpected_answer("a run without an id"))?;
        self.tell(run, &controller, &then);
        if !then.wait {
            return Ok(0);
        }
        let source = Arc::new(RemoteRunSource::new(controller));
        let known =
            if self.known { source.load_run(run) } else { Box::pin(source.submitted_run(run)) };
        let known = runtime.block_on(known)?;
        let (look, prints, named) = (then.context.err, then.prints, then.named);
        runtime.block_on(RemoteWatch { source, known, look, output: prints, named }.watch())
    }

    /// The id is data, the rest is talk.
    fn tell(&self, run: RunId, controller: &ClusterClient, then: &SubmitFollowUp<'_>) {
        let look = then.context.err;
        let warning = look.paint(ColorRole::Warn, "warning:");
        for text in &self.warnings {
            output::print_message(&format!("{warning} {text}"));
        }
        if then.prints == WatchOutput::Events {
            output::print_data(&serde_json::to_string(self).expect("it is plain data"));
            return;
        }
        if self.known {
            output::print_message(
                "this was submitted before, under the same key: it is the same run",
            );
        } else if !then.wait {
            let watch = controller.hints().watch(run).unwrap_or_default();
            let note = format!("submitted to {}; `{watch}` shows it", controller.place());
            output::print_message(&look.paint(ColorRole::Quiet, &note));
        }
        output::print_data(&self.id);
    }
}
