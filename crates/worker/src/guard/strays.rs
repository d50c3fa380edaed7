//! What is left of steps when the guard that had them is dead.

use std::io;
use std::time::Duration;

use super::spawn::GuardMark;
use crate::platform;

/// From one look to the next: what is killed is gone by then, and what was just being started has its environment.
const SCAN_PAUSE: Duration = Duration::from_millis(20);

/// So many looks in a row have to find nothing: a process that is just being started has no environment of its own yet.
const CLEAN_SCANS: u32 = 2;

/// Who cannot be killed within 5 s, waits for a disk that does not answer; nothing more can be done.
const SCANS_MAX: u32 = 250;

/// Kills every process that was started with this entry in its environment, `NAME=value`, and waits until none is left;
/// the calling process excepted. Returns how many there were.
///
/// For the start of a worker whose former life died together with its guard: each step has to be given a variable that
/// names the worker. It looks at every process of the system: it is for starts, not for steps.
pub async fn kill_strays(entry: &str) -> io::Result<usize> {
    kill_where(|found| found == entry.as_bytes()).await
}

/// Kills everything that a guard of this [mark](super::Guard::mark) has started and left, and waits until nothing is
/// left. Returns how many there were.
///
/// As [`kill_strays`], for a worker that remembers its last guard.
pub async fn kill_marked(mark: &str) -> io::Result<usize> {
    let mark = GuardMark::of_other(mark.to_owned());
    kill_where(|found| mark.fence_in(found).is_some()).await
}

pub(super) async fn kill_where(entry: impl Fn(&[u8]) -> bool) -> io::Result<usize> {
    let (mut most, mut clean) = (0, 0);
    for _ in 0..SCANS_MAX {
        let strays = platform::strays(&entry)?;
        most = most.max(strays.len());
        clean = if strays.is_empty() { clean + 1 } else { 0 };
        if clean == CLEAN_SCANS {
            return Ok(most);
        }
        strays.iter().for_each(platform::StrayProcess::kill);
        tokio::time::sleep(SCAN_PAUSE).await;
    }
    Err(io::Error::other("processes of a former life cannot be killed"))
}
