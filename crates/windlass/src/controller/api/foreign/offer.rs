//! What a foreign worker is told to execute.

use serde_json::{Map, Value, json};
use windlass_core::expand::{Action, Handout, Work, interpreter};
use windlass_core::session::Grant;
use windlass_core::time::Span;
use windlass_core::trace::TraceContext;

use super::step_id::PlainStepId;

/// A lease in words that need no windlass to be understood, or why it cannot be put so. Secrets are named: their values
/// are the worker's own. When the lease expires is added by the caller.
pub(super) fn offer(grant: &Grant, worker: &str) -> Result<Value, String> {
    let work =
        Work::parse(&grant.work).map_err(|error| format!("its work is not known: {error}"))?;
    let handout = Handout { work: &work, grant };
    let scope = handout.scope();
    let lease = grant.lease;
    let context = TraceContext::new(lease.run, None);
    let span = context.traceparent(lease.step, lease.attempt, grant.delivery);
    let mut env = vec![("TRACEPARENT".to_owned(), span.to_string())];
    env.extend(handout.variables(&scope)?);
    env.extend(handout.identity(worker));
    let env: Map<String, Value> =
        env.into_iter().map(|(name, value)| (name, value.into())).collect();
    Ok(json!({
        "step_id": PlainStepId::of(grant.lease).to_string(),
        "run_id": grant.lease.run.to_string(),
        "phase": grant.name,
        "stop_on_lost_contact": grant.stops_on_lost_contact,
        "fence": grant.lease.fence.0,
        "run": command(&work.action)?,
        "env": env,
        "secrets": work.secrets,
        "other_secrets": work.other_secrets,
        "dir": handout.dir(&scope)?,
        "timeout_ms": grant.timeout.map(Span::as_millis),
    }))
}

/// What sh is to run.
fn command(action: &Action) -> Result<String, String> {
    match action {
        Action::Script { text, shell: None } => Ok(text.clone()),
        Action::Script { text, shell } => {
            Ok(interpreter::as_line(&interpreter::command(shell.as_deref(), text)?))
        }
        Action::Exec { argv } => Ok(interpreter::as_line(argv)),
        Action::Noop => Ok("true".to_owned()),
        Action::Call { name, .. } => {
            Err(format!("`{name}` is compiled into workers of windlass, and no command"))
        }
        Action::Unavailable { key } => {
            Err(format!("`{key}` is not available in this version of windlass"))
        }
    }
}
