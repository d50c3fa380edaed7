//! What is said when a CI service has repeated only a part of the instances.

use windlass_core::instance::InstanceRendezvous;

/// For instance 0 that nobody has joined; nothing if that needs no explanation.
pub(super) fn no_instance_joined_note(meeting: &InstanceRendezvous, total: u32) -> String {
    let others = total - 1;
    let what = format!("none of the {others} others has joined: everything ran here");
    match meeting.attempt {
        1 => what,
        attempt => format!("{what}; {}", partial_retry_note(attempt)),
    }
}

/// For an instance that found nobody who leads; nothing where nothing was repeated.
pub(super) fn no_leader_note(meeting: &InstanceRendezvous) -> Option<String> {
    (meeting.attempt > 1).then(|| partial_retry_note(meeting.attempt))
}

fn partial_retry_note(attempt: u32) -> String {
    format!(
        "this is attempt {attempt}: \"Re-run failed jobs\" starts those that failed and not the others, \
         \"Re-run all jobs\" starts every instance"
    )
}
