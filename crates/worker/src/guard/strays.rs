//! Finds and kills processes of steps whose guard is dead.

use std::io;
use std::time::Duration;

use super::spawn::GuardMark;
use crate::platform;

/// The pause between two scans. Killed processes are gone by then, and a process that was being started has its
/// environment.
const SCAN_PAUSE: Duration = Duration::from_millis(20);

/// The number of scans in a row that must find nothing: a process that is being started has no environment of its own
/// yet.
const CLEAN_SCANS: u32 = 2;

/// The maximum number of scans. A process that survives 5 s waits for a disk that does not answer; nothing more can be
/// done.
const SCANS_MAX: u32 = 250;

/// Kills every process that was started with this entry in its environment, `NAME=value`, except the calling one. Waits
/// until none is left, and returns their number.
///
/// It is for the start of a worker whose former incarnation died together with its guard. Each step must have a
/// variable that names the worker. It scans every process of the system, so it is for starts, not for steps.
pub async fn kill_strays(entry: &str) -> io::Result<usize> {
    kill_where(|found| found == entry.as_bytes()).await
}

/// Kills everything that a guard with this [mark](super::GuardHandle::mark) has started and left, and waits until
/// nothing is left. Returns the number of processes.
///
/// It is like [`kill_strays`], for a worker that remembers its last guard.
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
    Err(io::Error::other("processes of an earlier incarnation cannot be killed"))
}
