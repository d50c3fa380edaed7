//! The lock that shows whether a process of an earlier incarnation may still be alive.
//!
//! The guard of an incarnation holds it, as its standard output, from before its first step until nothing of any step
//! is left. Its tethers inherit it there. The lock is free when all of them have ended, in whatever way.
//!
//! A free lock proves this only for incarnations whose guards held the lock of this very file, in this boot of this
//! system: the [`GuardLockIdentity`], which is recorded with the number of each incarnation. A copy of the directory
//! has another file. A directory that is mounted on another host, where the lock may not be seen, is found by the boot
//! id. One case is not covered: a virtual machine that is cloned with its memory has the same boot id and the same
//! file.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};
use windlass_net::files::{durable_folder, private_files};

/// The name of its file.
const FILE: &str = "guard.lock";

/// How long a new incarnation waits for the guard of the former one, which kills by force and at once. A process that
/// waits for a disk without an answer may take longer, perhaps forever. The wait then ends, and nothing is proven.
const PATIENCE: Duration = Duration::from_secs(3);
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// The identity of a guard lock: the boot of the system, and the file. Empty where the system does not report them;
/// that equals no other identity.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GuardLockIdentity(String);

impl GuardLockIdentity {
    /// Returns whether both are the same file in the same boot.
    pub(super) fn is(&self, other: &Self) -> bool {
        !self.0.is_empty() && self.0 == other.0
    }
}

/// The lock while it is held. It is passed to a guard.
#[derive(Debug)]
pub struct GuardLock {
    held: File,
    /// The same file, opened a second time.
    other: File,
}

impl GuardLock {
    /// Takes the lock in this directory, unless it is held.
    pub fn try_take(folder: &Path) -> io::Result<Option<(Self, GuardLockIdentity)>> {
        let path = folder.join(FILE);
        let mut options = private_files::open_options();
        options.create(true).truncate(false).read(true).write(true);
        let held = options.open(&path)?;
        match held.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let identity = identity_of(&held)?;
        Ok(Some((Self { held, other: options.open(&path)? }, identity)))
    }

    /// Takes the lock in this directory. If it stays held, another file replaces it: nothing is known of the former
    /// guard then.
    pub async fn take(folder: &Path) -> io::Result<(Self, GuardLockIdentity)> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(taken) = Self::try_take(folder)? {
                return Ok(taken);
            }
            if Instant::now() >= until {
                break;
            }
            sleep(BETWEEN_TRIES).await;
        }
        fs::remove_file(folder.join(FILE))?;
        durable_folder::sync(folder)?;
        let taken = Self::try_take(folder)?;
        taken.ok_or_else(|| io::Error::other(format!("{FILE} is in use by another process")))
    }

    /// Whether no process holds the lock in this directory. A missing file is free. A process that tries to take the lock
    /// at this moment may fail.
    pub fn is_free(folder: &Path) -> io::Result<bool> {
        let file = match File::open(folder.join(FILE)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns two descriptions of the file. The lock is held while any process has the first one; the second one shows
    /// whether the lock is free.
    pub(crate) fn into_files(self) -> (File, File) {
        (self.held, self.other)
    }
}

#[cfg(target_os = "linux")]
fn identity_of(file: &File) -> io::Result<GuardLockIdentity> {
    use std::os::unix::fs::MetadataExt as _;

    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let Some(boot) = boot.ok().filter(|boot| !boot.trim().is_empty()) else {
        return Ok(GuardLockIdentity::default());
    };
    let about = file.metadata()?;
    Ok(GuardLockIdentity(format!("{} {} {}", boot.trim(), about.dev(), about.ino())))
}

#[cfg(not(target_os = "linux"))]
fn place(_file: &File) -> io::Result<GuardLockIdentity> {
    Ok(GuardLockIdentity::default())
}
