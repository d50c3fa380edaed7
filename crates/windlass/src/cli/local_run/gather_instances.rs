//! Other instances, before the run begins: the link is bound, and who has to be there is waited for.

use std::sync::Arc;

use super::interrupts::{InterruptListener, UserRequest};
use super::options::LocalRunOptions;
use crate::cli::ci_instances::{InstanceMailboxEvent, InstanceMailboxServer};
use crate::cli::error::CliError;
use crate::cli::exit;
use crate::cli::output::{self, ColorRole};
use crate::embedded::{EchoLogStore, EmbeddedNode};

/// Whether a run begins.
pub(super) enum GatherOutcome {
    /// Everybody is there who has to be; without instances that is nobody.
    Ready(Option<InstanceMailboxServer>),
    /// Somebody does not want it any more: the exit code.
    Cancelled(u8),
}

/// Takes the lead of other instances, where there are any.
pub(super) async fn bind_link(
    order: &LocalRunOptions,
    station: &EmbeddedNode,
    logs: &Arc<EchoLogStore>,
    interrupts: &mut InterruptListener,
) -> Result<GatherOutcome, CliError> {
    let Some(leading) = &order.leading else { return Ok(GatherOutcome::Ready(None)) };
    leading.forget_workers_of_other_runs(station.handle(), order.store.as_deref()).await;
    // One whose place does not answer is tried for a while: whoever waits may give up before.
    let post = tokio::select! {
        post = InstanceMailboxServer::open(leading, station, Arc::clone(logs) as _) => post?,
        () = interrupted(interrupts) => return Ok(GatherOutcome::Cancelled(exit::INTERRUPTED)),
    };
    output::print_message(&order.look.paint(ColorRole::Quiet, &leading.greeting()));
    if post.follows_another() {
        let what = format!(
            "an earlier instance 0 has led here: locks are granted after {}",
            leading.ttl()
        );
        output::print_message(&format!("{} {what}", order.look.paint(ColorRole::Quiet, "note:")));
    }
    Ok(GatherOutcome::Ready(Some(post)))
}

/// Waits for other instances, if it was told to. If it comes to nothing those who are there are told.
pub(super) async fn gather(
    order: &LocalRunOptions,
    station: &EmbeddedNode,
    post: Option<InstanceMailboxServer>,
    interrupts: &mut InterruptListener,
) -> Result<GatherOutcome, CliError> {
    let (Some(leading), Some(mut post)) = (&order.leading, post) else {
        return Ok(GatherOutcome::Ready(None));
    };
    let gathering = leading.wait_for_workers(station.handle());
    tokio::pin!(gathering);
    loop {
        let code = tokio::select! {
            missing = &mut gathering => {
                if let Some(missing) = missing {
                    warn(order, &format!("{missing}; it begins all the same"));
                }
                return Ok(GatherOutcome::Ready(Some(post)));
            }
            news = post.next() => match news {
                InstanceMailboxEvent::Unread(why) => {
                    warn(order, &why.to_string());
                    continue;
                }
                InstanceMailboxEvent::Cancel(_) => exit::CANCELLED,
                InstanceMailboxEvent::Failed(error) => return Err(error),
            },
            () = interrupted(interrupts) => exit::INTERRUPTED,
        };
        post.announce_no_run().await;
        return Ok(GatherOutcome::Cancelled(code));
    }
}

async fn interrupted(interrupts: &mut InterruptListener) {
    while interrupts.next().await != UserRequest::EndRun {}
}

fn warn(order: &LocalRunOptions, what: &str) {
    output::print_message(&format!("{} {what}", order.look.paint(ColorRole::Warn, "warning:")));
}
