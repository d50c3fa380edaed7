//! A run that a controller created: reported, and watched if requested.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::runtime::Runtime;
use windlass_core::json_form::AsText;
use windlass_link::http::{KEY_HEADER, SubmittedRunBody};
use windlass_net::http::HttpRequest;
use windlass_net::random;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::output::ColorRole;
use crate::cli::run_source::{ClusterClient, RemoteRunSource, RunSource as _};
use crate::cli::run_watch::{RemoteWatch, WatchOutput};

/// How long a controller may take to plan a large pipeline.
const PLANS_WITHIN: Duration = Duration::from_secs(45);

/// The answer to a submission.
#[derive(Debug)]
pub(super) struct SubmitResponse(SubmittedRunBody);

/// Options for a run that was created.
#[derive(Clone, Debug)]
pub(super) struct SubmitFollowUp<'a> {
    /// Whether to watch it.
    pub(super) wait: bool,
    /// The output format while watching.
    pub(super) prints: WatchOutput,
    /// Steps that the user named.
    pub(super) named: Vec<String>,
    pub(super) context: &'a CommandContext,
}

impl SubmitResponse {
    /// Requests a run idempotently: under the user's key, or a random one.
    pub(super) async fn request_run(
        controller: &ClusterClient,
        path: &str,
        body: &impl Serialize,
        key: Option<&str>,
    ) -> Result<Self, CliError> {
        // A request whose answer was lost is repeated: without a key it would create a second run.
        let once = format!("once-{}", random::random_hex());
        let headers = [(KEY_HEADER, key.unwrap_or(&once))];
        let ask = HttpRequest::post(controller.address(), path, body).with(&headers);
        let answered = controller.call(ask, PLANS_WITHIN).await?;
        let submitted: SubmittedRunBody = controller.read(&answered)?;
        let known = submitted.known && key.is_some();
        Ok(Self(SubmittedRunBody { known, ..submitted }))
    }

    /// Reports the run, and watches it if requested.
    pub(super) fn report_and_watch(
        self,
        controller: ClusterClient,
        runtime: &Runtime,
        then: SubmitFollowUp<'_>,
    ) -> Result<u8, CliError> {
        self.tell(&controller, &then);
        let Self(SubmittedRunBody { id: AsText(run), known, .. }) = self;
        if !then.wait {
            return Ok(0);
        }
        let source = Arc::new(RemoteRunSource::new(controller));
        let known = if known { source.load_run(run) } else { Box::pin(source.submitted_run(run)) };
        let known = runtime.block_on(known)?;
        let (caps, prints, named) = (then.context.err, then.prints, then.named);
        runtime.block_on(RemoteWatch { source, known, caps, output: prints, named }.watch())
    }

    /// The id goes to stdout, the note to stderr.
    fn tell(&self, controller: &ClusterClient, then: &SubmitFollowUp<'_>) {
        let caps = then.context.err;
        let warning = caps.paint(ColorRole::Warn, "warning:");
        let Self(submitted) = self;
        for text in &submitted.warnings {
            output::print_message(&format!("{warning} {text}"));
        }
        if then.prints == WatchOutput::Events {
            output::print_data(&serde_json::to_string(submitted).expect("it is plain data"));
            return;
        }
        if submitted.known {
            output::print_message("this key was submitted before: this is the same run");
        } else if !then.wait {
            let watch = controller.hints().watch(submitted.id.0).unwrap_or_default();
            let note = format!("submitted to {}; `{watch}` shows it", controller.address());
            output::print_message(&caps.paint(ColorRole::Quiet, &note));
        }
        output::print_data(&submitted.id.0.to_string());
    }
}
