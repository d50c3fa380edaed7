//! `windlass logs --grep`

use serde_json::{Value, json};
use windlass_core::id::{RunId, StepIx};
use windlass_core::plan::Plan;
use windlass_store::logs::{LogMatch, LogSearchLimit};

use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::run_source::BlockingRunSource;

/// The text to search for, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrepQuery<'a> {
    pub(super) run: RunId,
    pub(super) step: Option<StepIx>,
    pub(super) text: &'a str,
    pub(super) json: bool,
}

/// Prints the lines that contain the text.
pub(super) fn grep(
    reading: &BlockingRunSource,
    plan: &Plan,
    sought: GrepQuery<'_>,
) -> Result<u8, CliError> {
    let GrepQuery { run, step, text, json } = sought;
    let hits = reading.wait(reading.source.search(run, step, text.to_owned()))?;
    if hits.list.is_empty() {
        output::print_message(&format!("no line contains `{text}`"));
    }
    if let Some(cut) = hits.cut {
        output::print_message(&format!("results may be incomplete: {}", why(cut)));
    }
    if json {
        let objects: Vec<Value> = hits.list.iter().map(|hit| object(plan, hit)).collect();
        return Ok(output::print_json_lines(&objects));
    }
    let lines: Vec<String> = hits.list.iter().map(|hit| line(plan, hit)).collect();
    Ok(if lines.is_empty() { 0 } else { output::print_data(&lines.join("\n")) })
}

const fn why(cut: LogSearchLimit) -> &'static str {
    match cut {
        LogSearchLimit::Limit => "the search reached its limit of lines; name a step",
        LogSearchLimit::Bytes => "the search reached its limit of bytes; name a step",
        LogSearchLimit::Time => "the search took too long; name a step",
    }
}

fn line(plan: &Plan, hit: &LogMatch) -> String {
    let (name, number, text) = (plan.name(hit.log.step), hit.line, &hit.text);
    match hit.log.attempt {
        1 => format!("{name}:{number}: {text}"),
        attempt => format!("{name}, attempt {attempt}:{number}: {text}"),
    }
}

fn object(plan: &Plan, hit: &LogMatch) -> Value {
    json!({
        "run": hit.log.run.to_string(), "step": hit.log.step.0, "name": plan.name(hit.log.step),
        "attempt": hit.log.attempt, "delivery": hit.log.delivery,
        "number": hit.line, "at": hit.at, "line": hit.text,
    })
}
