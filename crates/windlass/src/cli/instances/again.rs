//! What is said when a CI service has repeated only a part of the instances.

use windlass_core::instance::Meeting;

/// For instance 0 that nobody has joined; nothing if that needs no explanation.
pub(super) fn nobody_joined(meeting: &Meeting, total: u32) -> String {
    let others = total - 1;
    let what = format!("none of the {others} others has joined: everything ran here");
    match meeting.attempt {
        1 => what,
        attempt => format!("{what}; {}", part_repeated(attempt)),
    }
}

/// For an instance that found nobody who leads; nothing where nothing was repeated.
pub(super) fn nobody_leads(meeting: &Meeting) -> Option<String> {
    (meeting.attempt > 1).then(|| part_repeated(meeting.attempt))
}

fn part_repeated(attempt: u32) -> String {
    format!(
        "this is attempt {attempt}: \"Re-run failed jobs\" starts those that failed and not the others, \
         \"Re-run all jobs\" starts every instance"
    )
}
