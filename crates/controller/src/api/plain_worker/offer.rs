//! The form of a lease for a plain worker.

use windlass_core::expand::{GrantedWork, StepWork, WorkAction, interpreter};
use windlass_core::json_form::AsText;
use windlass_core::report::UtcTime;
use windlass_core::session::LeaseGrant;
use windlass_core::time::{Span, Time};
use windlass_core::trace::TraceContext;

use super::bodies::PlainOfferBody;
use super::step_id::PlainStepId;

/// Makes the offer of a lease that expires at this time, or returns why a plain worker cannot execute it. An offer has the
/// names of secrets; the worker has their values.
pub(super) fn offer(
    grant: &LeaseGrant,
    worker: &str,
    expires: Time,
) -> Result<PlainOfferBody, String> {
    let work =
        StepWork::parse(&grant.work).map_err(|error| format!("its work is not known: {error}"))?;
    let granted_work = GrantedWork { work: &work, grant };
    let scope = granted_work.scope();
    let lease = grant.lease;
    let context = TraceContext::new(lease.run, None);
    let span = context.traceparent(lease.step, lease.attempt, grant.delivery);
    let mut env = vec![("TRACEPARENT".to_owned(), span.to_string())];
    env.extend(granted_work.variables(&scope)?);
    env.extend(granted_work.identity_variables(worker));
    Ok(PlainOfferBody {
        step_id: AsText(PlainStepId::of(lease)),
        run_id: AsText(lease.run),
        phase: grant.name.to_string(),
        lease_expires_at: UtcTime(expires),
        stop_on_lost_contact: grant.stops_on_lost_contact,
        fence: lease.fence.0,
        run: command(&work.action)?,
        env: env.into_iter().collect(),
        dir: granted_work.dir(&scope)?,
        timeout_ms: grant.timeout.map(Span::as_millis),
        secrets: work.secrets,
        other_secrets: work.other_secrets,
    })
}

/// The script for sh.
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
