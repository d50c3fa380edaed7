//! Watches a local run to its end, and ends the node.

use std::sync::Arc;

use windlass_core::summary::RunSummary;

use super::options::LocalRunOptions;
use super::past_durations::past_durations;
use super::watched_local_run::LocalRun;
use crate::cli::ci_instances::LeaderInstanceOptions;
use crate::cli::error::CliError;
use crate::cli::output::{ColorRole, DisplayKind, OutputMode, ScreenOptions};
use crate::cli::run_watch::{
    InterruptListener, RunReportOptions, RunWatch, WatchOutcome, WatchOutput,
};
use crate::cli::{exit, output};
use crate::sdk::Report;

/// Shows the run until it has ended; returns the exit code.
pub(super) async fn watch(
    mut run: LocalRun<'_>,
    summary: RunSummary,
    mut interrupts: InterruptListener,
) -> Result<u8, CliError> {
    let options = run.options;
    if options.caps.display == DisplayKind::Live {
        run.past_durations = past_durations(run.stores, summary.plan().pipeline());
    }
    let shown = if options.json { WatchOutput::Events } else { WatchOutput::Output };
    let mut watch = RunWatch::new(run, summary, shown, screen_options(options));
    let end_requests = match watch.follow(&mut interrupts).await? {
        WatchOutcome::Ended { end_requests } => end_requests,
        // The node ends with the process.
        WatchOutcome::Left => return Ok(exit::INTERRUPTED),
    };
    if let Some(server) = watch.run_mut().mailbox_server.take() {
        // First, since other instances wait for it.
        server.end(watch.summary()).await;
    }
    for chunk in watch.run_mut().take_printed() {
        watch.show_output(chunk.log, &chunk.bytes);
    }
    watch.close();
    let (named, junit) = (&*options.named, options.junit.as_deref());
    let code = watch.report(RunReportOptions { named, junit, interrupted: end_requests > 0 });
    let (run, summary) = watch.into_run();
    end(run, summary).await?;
    Ok(code)
}

fn screen_options(options: &LocalRunOptions) -> ScreenOptions {
    let LocalRunOptions { caps, slots, mode, .. } = options;
    let instances = options.leading.as_ref().map_or(1, |leading| leading.total);
    let slots_of_all = slots.saturating_mul(instances);
    let mode = mode.unwrap_or_else(|| OutputMode::default_for(caps, slots_of_all));
    ScreenOptions { caps: *caps, mode, slots: *slots, ctrl_c_ends: true }
}

/// Ends the node after the report, and runs the hooks of this program.
async fn end(run: LocalRun<'_>, summary: RunSummary) -> Result<(), CliError> {
    let LocalRun { options, stores, node, .. } = run;
    if let Some(leading) = &options.leading {
        if let Some(why) = leading.no_instance_joined_note(node.handle(), &summary) {
            let note = options.caps.paint(ColorRole::Quiet, "note:");
            output::print_message(&format!("{note} {why}"));
        }
        LeaderInstanceOptions::forget_workers(node.handle()).await;
    }
    node.shut_down().await?;
    if !options.compiled.hooks.is_empty() {
        let report = Report::new(summary, Arc::clone(&stores.logs)).await;
        options.compiled.hooks.after_run(&report).await;
    }
    Ok(())
}
