//! `windlass submit`

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use windlass_core::expand::Expanded;
use windlass_core::id::RunId;
use windlass_core::problem::Severity;
use windlass_core::time::Span;

use super::run::read_duration;
use crate::chance;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::load::Loaded;
use crate::cli::output::{self, Ink};
use crate::cli::part::PartArgs;
use crate::cli::reading::{Controller, ControllerArgs, Remote, Source as _, runtime};
use crate::cli::watching::{Attached, Prints};
use crate::link::http::{Ask, KEY_HEADER};

/// How long a controller may take to plan a large pipeline.
const PLANS_WITHIN: Duration = Duration::from_secs(45);

/// Have a controller run a pipeline on its workers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It prints the id of the run. The file is checked here first: nothing is sent that is wrong.
Steps run in the folders that workers were started in: what they read has to be there.

Examples:
  windlass submit --to http://build.example:7700
  windlass submit ship.yml deploy -p channel=stable --wait
  windlass submit nightly.yml --idempotency-key nightly-2026-11-16")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Args {
    #[command(flatten)]
    part: PartArgs,
    /// After a failure, run what does not depend on it
    #[arg(long)]
    keep_going: bool,
    /// The longest that the run may take, such as 90s or 2h
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    timeout: Option<Span>,
    /// Watch the run, and end with its exit code
    #[arg(long)]
    wait: bool,
    /// The same key and file again mean the run that was made of them
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Print one JSON object; with --wait, then events, one a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    controller: ControllerArgs,
}

/// What a controller makes of a submission.
#[derive(Debug, Deserialize, Serialize)]
struct Submitted {
    id: String,
    warnings: Vec<String>,
    known: bool,
}

/// Sends the pipeline, and watches what becomes of it if that is wanted.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let loaded = Loaded::read(context, args.part.target().file.as_deref(), Severity::Error)?;
    let text = loaded.source.text().to_owned();
    let loaded = loaded.select(&args.part.selection())?;
    let expanded = loaded.plan(&args.part.param)?;
    let controller = args.controller.controller(context)?;
    let body = args.body(&loaded, &text, &expanded);
    let runtime = runtime()?;
    let submitted = runtime.block_on(args.send(&controller, &body))?;
    let run = RunId::parse(&submitted.id);
    let run = run.ok_or_else(|| controller.nonsense("a run without an id"))?;
    args.tell(run, &submitted, &controller, context);
    if !args.wait {
        return Ok(0);
    }
    let source = Arc::new(Remote::new(controller));
    let known = if submitted.known { source.known(run) } else { Box::pin(source.begun(run)) };
    let known = runtime.block_on(known)?;
    let prints = if args.json { Prints::Events } else { Prints::Output };
    let (look, named) = (context.err, args.part.target().steps);
    runtime.block_on(Attached { source, known, look, prints, named }.watch())
}

impl Args {
    fn body(&self, loaded: &Loaded, text: &str, expanded: &Expanded) -> Value {
        let selection = self.part.selection();
        let param = self.part.param.iter().map(|it| (it.name.clone(), it.value.clone().into()));
        json!({
            "text": text,
            "file": loaded.project.shown,
            "name": loaded.project.name(),
            "params": param.collect::<Map<String, Value>>(),
            "selection": {
                "steps": selection.steps,
                "only": selection.only,
                "from": selection.from,
                "tags": selection.tags,
            },
            "keep_going": self.keep_going,
            "timeout_ms": self.timeout.map(Span::as_millis),
            "fingerprint": expanded.plan.fingerprint().to_string(),
        })
    }

    async fn send(&self, controller: &Controller, body: &Value) -> Result<Submitted, CliError> {
        // A request whose answer was lost is made again: without a key it would be a second run.
        let once = format!("once-{}", chance::word());
        let key = self.idempotency_key.as_deref();
        let headers = [(KEY_HEADER, key.unwrap_or(&once))];
        let ask = Ask::post(controller.place(), "/runs", body).with(&headers);
        let answered = controller.call(ask, PLANS_WITHIN).await?;
        let submitted: Submitted = controller.read(&answered)?;
        Ok(Submitted { known: submitted.known && key.is_some(), ..submitted })
    }

    /// The id is data, the rest is talk.
    fn tell(&self, run: RunId, submitted: &Submitted, controller: &Controller, context: &Context) {
        let warning = context.err.paint(Ink::Warn, "warning:");
        for text in &submitted.warnings {
            output::talk(&format!("{warning} {text}"));
        }
        if self.json {
            output::data(&serde_json::to_string(submitted).expect("it is plain data"));
            return;
        }
        if submitted.known {
            output::talk("this was submitted before, under the same key: it is the same run");
        } else if !self.wait {
            let watch = controller.hints().watch(run).unwrap_or_default();
            let note = format!("submitted to {}; `{watch}` shows it", controller.place());
            output::talk(&context.err.paint(Ink::Quiet, &note));
        }
        output::data(&submitted.id);
    }
}
