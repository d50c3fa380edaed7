//! Explanations for a run of which a CI service repeated only some instances.

use windlass_core::instance::InstanceRendezvous;

/// The note of instance 0 when no other instance joined; empty if it needs no explanation.
pub(super) fn no_instance_joined_note(meeting: &InstanceRendezvous, total: u32) -> String {
    let others = total - 1;
    let what = format!("none of the {others} other instances joined: everything ran here");
    match meeting.attempt {
        1 => what,
        attempt => format!("{what}; {}", partial_retry_note(attempt)),
    }
}

/// The note of an instance that found no leader; empty if nothing was repeated.
pub(super) fn no_leader_note(meeting: &InstanceRendezvous) -> Option<String> {
    (meeting.attempt > 1).then(|| partial_retry_note(meeting.attempt))
}

fn partial_retry_note(attempt: u32) -> String {
    format!(
        "this is attempt {attempt}: \"Re-run failed jobs\" starts only those that failed, \
         \"Re-run all jobs\" starts every instance"
    )
}
