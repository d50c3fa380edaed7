//! A run that a controller made: told, and watched if that is wanted.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::runtime::Runtime;
use windlass_core::id::RunId;

use crate::chance;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::{self, Ink};
use crate::cli::reading::{Controller, Remote, Source as _};
use crate::cli::watching::{Attached, Prints};
use crate::link::http::{Ask, KEY_HEADER};

/// How long a controller may take to plan a large pipeline.
const PLANS_WITHIN: Duration = Duration::from_secs(45);

/// What a controller makes of a submission.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Submitted {
    id: String,
    warnings: Vec<String>,
    known: bool,
}

/// What is done when a run was made.
#[derive(Clone, Debug)]
pub(super) struct Then<'a> {
    /// Whether it is watched.
    pub(super) wait: bool,
    /// What is printed of it.
    pub(super) prints: Prints,
    /// Steps that the user named.
    pub(super) named: Vec<String>,
    pub(super) context: &'a Context,
}

impl Submitted {
    /// Has a controller make a run, once: under the user's key, or one that nobody else has.
    pub(super) async fn ask(
        controller: &Controller,
        path: &str,
        body: &Value,
        key: Option<&str>,
    ) -> Result<Self, CliError> {
        // A request whose answer was lost is made again: without a key it would be a second run.
        let once = format!("once-{}", chance::word());
        let headers = [(KEY_HEADER, key.unwrap_or(&once))];
        let ask = Ask::post(controller.place(), path, body).with(&headers);
        let answered = controller.call(ask, PLANS_WITHIN).await?;
        let submitted: Self = controller.read(&answered)?;
        Ok(Self { known: submitted.known && key.is_some(), ..submitted })
    }

    /// Tells of the run, and watches what becomes of it if that is wanted.
    pub(super) fn follow(
        self,
        controller: Controller,
        runtime: &Runtime,
        then: Then<'_>,
    ) -> Result<u8, CliError> {
        let run = RunId::parse(&self.id);
        let run = run.ok_or_else(|| controller.nonsense("a run without an id"))?;
        self.tell(run, &controller, &then);
        if !then.wait {
            return Ok(0);
        }
        let source = Arc::new(Remote::new(controller));
        let known = if self.known { source.known(run) } else { Box::pin(source.begun(run)) };
        let known = runtime.block_on(known)?;
        let (look, prints, named) = (then.context.err, then.prints, then.named);
        runtime.block_on(Attached { source, known, look, prints, named }.watch())
    }

    /// The id is data, the rest is talk.
    fn tell(&self, run: RunId, controller: &Controller, then: &Then<'_>) {
        let look = then.context.err;
        let warning = look.paint(Ink::Warn, "warning:");
        for text in &self.warnings {
            output::talk(&format!("{warning} {text}"));
        }
        if then.prints == Prints::Events {
            output::data(&serde_json::to_string(self).expect("it is plain data"));
            return;
        }
        if self.known {
            output::talk("this was submitted before, under the same key: it is the same run");
        } else if !then.wait {
            let watch = controller.hints().watch(run).unwrap_or_default();
            let note = format!("submitted to {}; `{watch}` shows it", controller.place());
            output::talk(&look.paint(Ink::Quiet, &note));
        }
        output::data(&self.id);
    }
}
