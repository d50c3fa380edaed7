//! What a foreign worker is told to execute.

use serde_json::{Map, Value, json};
use windlass_core::expand::{GrantedWork, StepWork, WorkAction, interpreter};
use windlass_core::session::LeaseGrant;
use windlass_core::time::Span;
use windlass_core::trace::TraceContext;

use super::step_id::PlainStepId;

/// A lease in words that need no windlass to be understood, or why it cannot be put so. Secrets are named: their values
/// are the worker's own. When the lease expires is added by the caller.
pub(super) fn offer(grant: &LeaseGrant, worker: &str) -> Result<Value, String> {
    let work =
        StepWork::parse(&grant.work).map_err(|error| format!("its work is not known: {error}"))?;
    let handout = GrantedWork { work: &work, grant };
    let scope = handout.scope();
    let lease = grant.lease;
    let context = TraceContext::new(lease.run, None);
    let span = context.traceparent(lease.step, lease.attempt, grant.delivery);
    let mut env = vec![("TRACEPARENT".to_owned(), span.to_string())];
    env.extend(handout.variables(&scope)?);
    env.extend(handout.identity_variables(worker));
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
fn command(action: &WorkAction) -> Result<String, String> {
    match action {
        WorkAction::Script { text, shell: None } => Ok(text.clone()),
        WorkAction::Script { text, shell } => {
            Ok(interpreter::shell_line(&interpreter::interpreter_command(shell.as_deref(), text)?))
        }
        WorkAction::Exec { argv } => Ok(interpreter::shell_line(argv)),
        WorkAction::Noop => Ok("true".to_owned()),
        WorkAction::Call { name, .. } => {
            Err(format!("`{name}` is compiled into workers of windlass, and no command"))
        }
        WorkAction::Unavailable { key } => {
            Err(format!("`{key}` is not available in this version of windlass"))
        }
    }
}
