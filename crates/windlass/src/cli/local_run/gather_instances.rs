//! The other instances before the run starts: binds the link, and waits for required instances.

use std::sync::Arc;

use super::options::LocalRunOptions;
use crate::cli::ci_instances::{InstanceMailboxEvent, InstanceMailboxServer};
use crate::cli::error::CliError;
use crate::cli::output::ColorRole;
use crate::cli::run_watch::InterruptListener;
use crate::cli::{exit, output};
use crate::embedded::{EchoLogStore, EmbeddedNode};

/// Whether a run starts.
pub(super) enum GatherOutcome {
    /// All required instances have joined; `None` without instances.
    Ready(Option<InstanceMailboxServer>),
    /// A user cancelled it; the exit code.
    Cancelled(u8),
}

/// Binds the link as leader, where there are other instances.
pub(super) async fn bind_link(
    order: &LocalRunOptions,
    node: &EmbeddedNode,
    logs: &Arc<EchoLogStore>,
    interrupts: &mut InterruptListener,
) -> Result<GatherOutcome, CliError> {
    let Some(leading) = &order.leading else { return Ok(GatherOutcome::Ready(None)) };
    leading.forget_workers_of_other_runs(node.handle(), order.store.as_deref()).await;
    // A link that does not answer is retried for a while, unless the user stops waiting.
    let mailbox_server = tokio::select! {
        mailbox_server = InstanceMailboxServer::open(leading, node, Arc::clone(logs) as _) => mailbox_server?,
        () = interrupts.next_end_request() => return Ok(GatherOutcome::Cancelled(exit::INTERRUPTED)),
    };
    output::print_message(&order.caps.paint(ColorRole::Quiet, &leading.greeting()));
    if mailbox_server.follows_another() {
        let what = format!(
            "an earlier instance 0 has led here: locks are granted after {}",
            leading.ttl()
        );
        output::print_message(&format!("{} {what}", order.caps.paint(ColorRole::Quiet, "note:")));
    }
    Ok(GatherOutcome::Ready(Some(mailbox_server)))
}

/// Waits for other instances, if required. If the run does not start, those that joined are notified.
pub(super) async fn gather(
    order: &LocalRunOptions,
    node: &EmbeddedNode,
    mailbox_server: Option<InstanceMailboxServer>,
    interrupts: &mut InterruptListener,
) -> Result<GatherOutcome, CliError> {
    let (Some(leading), Some(mut mailbox_server)) = (&order.leading, mailbox_server) else {
        return Ok(GatherOutcome::Ready(None));
    };
    let gathering = leading.wait_for_workers(node.handle());
    tokio::pin!(gathering);
    loop {
        let code = tokio::select! {
            missing = &mut gathering => {
                if let Some(missing) = missing {
                    warn(order, &format!("{missing}; the run starts without them"));
                }
                return Ok(GatherOutcome::Ready(Some(mailbox_server)));
            }
            event = mailbox_server.next() => match event {
                InstanceMailboxEvent::Unread(why) => {
                    warn(order, &why.to_string());
                    continue;
                }
                InstanceMailboxEvent::Cancel(_) => exit::CANCELLED,
                InstanceMailboxEvent::Failed(error) => return Err(error),
            },
            () = interrupts.next_end_request() => exit::INTERRUPTED,
        };
        mailbox_server.announce_no_run().await;
        return Ok(GatherOutcome::Cancelled(code));
    }
}

fn warn(order: &LocalRunOptions, what: &str) {
    output::print_message(&format!("{} {what}", order.caps.paint(ColorRole::Warn, "warning:")));
}
