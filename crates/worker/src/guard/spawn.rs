//! Starts the process of a step from the order to spawn it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, PoisonError, RwLock, TryLockError};

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{Pid, getpid};
use windlass_core::id::Fence;
use windlass_net::clock;

use super::entry::{SOCKET_VARIABLE, TETHER_VARIABLE};
use super::guard_protocol::{SpawnFailure, SpawnFailureCause, SpawnOrder};

/// The variable by whose value the guard knows the descendants of a step.
///
/// The fence alone is not enough: a step may itself run windlass, with fences of its own. Each guard adds a word to the
/// value that it finds, so each finds its own word in every descendant.
const MARK_VARIABLE: &str = "WINDLASS_GUARD";

/// The search path for programs if a step's environment has none.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The mark in the environment of each step.
#[derive(Debug)]
pub(super) struct GuardMark {
    /// The marks of the guards around this one, each followed by a space.
    outer: OsString,
    /// The part of this guard: its process id and its start time, because process ids are used again.
    own: String,
}

impl GuardMark {
    /// Returns the mark of the calling process.
    #[expect(clippy::disallowed_methods, reason = "a guard is given nothing but its environment")]
    pub(super) fn of_this_guard() -> Self {
        let mut outer = std::env::var_os(MARK_VARIABLE).unwrap_or_default();
        if !outer.is_empty() {
            outer.push(" ");
        }
        let started = clock::time_since_boot().as_millis();
        Self { outer, own: format!("{}-{started}", getpid().as_raw_nonzero()) }
    }

    /// Returns the mark of the guard whose tether the calling process is. `None` if it is not a tether.
    #[expect(clippy::disallowed_methods, reason = "a tether is given nothing but its environment")]
    pub(super) fn of_own_guard() -> Option<Self> {
        let own = std::env::var(TETHER_VARIABLE).ok()?;
        Some(Self { own, ..Self::of_this_guard() })
    }

    /// Returns the mark of another guard, to search for its steps only.
    pub(super) fn of_other(own: String) -> Self {
        Self { outer: OsString::new(), own }
    }

    /// Returns the part of this guard.
    pub(super) fn own(&self) -> &str {
        &self.own
    }

    fn value(&self, fence: Fence) -> OsString {
        let mut value = self.outer.clone();
        value.push(format!("{}:{}", self.own, fence.0));
        value
    }

    /// Returns the step that an entry of an environment names, if it is one of this guard's.
    pub(super) fn fence_in(&self, entry: &[u8]) -> Option<Fence> {
        let words = entry.strip_prefix(MARK_VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        words.split(|byte| *byte == b' ').find_map(|word| {
            let step = word.strip_prefix(self.own.as_bytes())?.strip_prefix(b":")?;
            str::from_utf8(step).ok()?.parse().ok().map(Fence)
        })
    }
}

/// Returns the search path in this guard's own environment.
#[expect(clippy::disallowed_methods, reason = "a guard is given nothing but its environment")]
pub(super) fn own_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| OsString::from(DEFAULT_PATH))
}

/// The settings that the steps of a guard share.
#[derive(Debug)]
pub(super) struct SpawnSettings {
    pub(super) mark: Arc<GuardMark>,
    /// The guard's own search path, which is also that of a step that sets none.
    pub(super) path: OsString,
    /// The gate that every new process passes.
    pub(super) gate: SpawnGate,
}

/// Keeps a delayed start, held up by a file system for instance, from creating a process after the guard has ended
/// everything.
#[derive(Debug, Default)]
pub(super) struct SpawnGate(RwLock<bool>);

impl SpawnGate {
    /// Creates a process, unless the gate is closed.
    fn pass(&self, make: impl FnOnce() -> io::Result<Pid>) -> io::Result<Pid> {
        let closed = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if *closed { Err(io::ErrorKind::Interrupted.into()) } else { make() }
    }

    /// Closes it. False if a process is being created: it is a child until that is over, and can be killed.
    pub(super) fn close(&self) -> bool {
        match self.0.try_write() {
            Ok(mut closed) => *closed = true,
            Err(TryLockError::Poisoned(mut error)) => **error.get_mut() = true,
            Err(TryLockError::WouldBlock) => return false,
        }
        true
    }
}

/// Starts the main process of a step, as the leader of a process group.
pub(super) fn spawn(
    order: SpawnOrder,
    output: Option<OwnedFd>,
    common: &SpawnSettings,
) -> Result<Pid, SpawnFailure> {
    let argv: Vec<OsString> = order.argv.into_iter().map(OsString::from).collect();
    let dir = order.dir.map(|dir| PathBuf::from(OsString::from(dir)));
    let name = argv.first().ok_or_else(|| refused_failure(OsStr::new(""), &Errno::NOENT.into()))?;
    let output = output.ok_or_else(|| refused_failure(name, &Errno::BADF.into()))?;
    let env: Vec<(OsString, OsString)> =
        order.env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let removed: Vec<OsString> = order.removed.into_iter().map(OsString::from).collect();

    let path = path_of(&env, &removed).unwrap_or(&common.path);
    let searched = search(name, path, dir.as_deref());
    let program = searched.as_ref().map_or(name.as_os_str(), |found| found.as_os_str());
    let mut command = Command::new(program);
    // Removals come first, so that set variables win.
    for name in &removed {
        command.env_remove(name);
    }
    command
        .arg0(name)
        .args(&argv[1..])
        .envs(env)
        .env(MARK_VARIABLE, common.mark.value(order.fence))
        .env_remove(SOCKET_VARIABLE)
        .env_remove(TETHER_VARIABLE)
        .process_group(0);
    if let Some(dir) = &dir {
        command.current_dir(dir);
    }
    let started = start(command, output, &common.gate);
    started.map_err(|error| spawn_failure(name, dir.as_deref(), &error))
}

fn start(mut command: Command, output: OwnedFd, gate: &SpawnGate) -> io::Result<Pid> {
    command.stderr(output.try_clone()?).stdout(output);
    gate.pass(|| Ok(Pid::from_child(&command.spawn()?)))
}

/// Returns the search path of the step if it is not the guard's own.
fn path_of<'a>(env: &'a [(OsString, OsString)], removed: &[OsString]) -> Option<&'a OsStr> {
    let set = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let unset = removed.iter().any(|name| name == "PATH").then_some(OsStr::new(DEFAULT_PATH));
    set.or(unset)
}

/// Finds the program on the step's search path. With the standard library this would cost a fork if the step has a path
/// of its own, and otherwise a failed `execve` for each directory.
fn search(name: &OsStr, path: &OsStr, dir: Option<&Path>) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return None;
    }
    let found = std::env::split_paths(path).find_map(|folder| {
        let file = folder.join(name);
        let seen_from_here = dir.map_or_else(|| file.clone(), |dir| dir.join(&file));
        let executable = access(&seen_from_here, Access::EXEC_OK).is_ok();
        (executable && seen_from_here.is_file()).then_some(file)
    });
    // A path that does not exist keeps the library from searching elsewhere.
    Some(found.unwrap_or_else(|| Path::new("/nonexistent").join(name)))
}

fn spawn_failure(name: &OsStr, dir: Option<&Path>, error: &io::Error) -> SpawnFailure {
    let Some(dir) = dir.filter(|dir| access(*dir, Access::EXEC_OK).is_err() || !dir.is_dir())
    else {
        return refused_failure(name, error);
    };
    let text = format!("cannot start {} in {}: {error}", name.display(), dir.display());
    SpawnFailure { cause: SpawnFailureCause::Directory, text }
}

fn refused_failure(name: &OsStr, error: &io::Error) -> SpawnFailure {
    let cause = match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => SpawnFailureCause::NotFound,
        Some(Errno::ACCESS | Errno::NOEXEC | Errno::PERM | Errno::ISDIR | Errno::NOTDIR) => {
            SpawnFailureCause::NotExecutable
        }
        _ => SpawnFailureCause::System,
    };
    let text = format!("cannot start {}: {error}", name.display());
    SpawnFailure { cause, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guard_distinguishes_its_steps_from_those_of_outer_guards() {
        let mark = GuardMark { outer: OsString::from("12-900:7 "), own: "34-950".to_owned() };
        let entry = [b"WINDLASS_GUARD=", mark.value(Fence(5)).as_bytes()].concat();
        assert_eq!(entry, b"WINDLASS_GUARD=12-900:7 34-950:5");
        assert_eq!(mark.fence_in(&entry), Some(Fence(5)));
        assert_eq!(GuardMark::of_other("12-900".to_owned()).fence_in(&entry), Some(Fence(7)));
        assert_eq!(GuardMark::of_other("2-900".to_owned()).fence_in(&entry), None);
        assert_eq!(mark.fence_in(b"OTHER=34-950:5"), None);
    }
}
