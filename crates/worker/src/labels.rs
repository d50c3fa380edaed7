//! The labels of this machine: `linux`, `os=linux`, `x86_64`, `arch=x86_64`, `cpu=8`, `mem=…`, the tools on its PATH
//! and the executors of this build.

use std::env::consts::{ARCH, EXE_SUFFIX, OS};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, thread};

use windlass_core::requirement::Labels;

/// Tools that steps ask for by name. It is a list and not all of PATH, because a label is a promise and PATH has
/// thousands of names.
const TOOLS: &[&str] = &[
    "bash",
    "bun",
    "bundle",
    "cargo",
    "clang",
    "cmake",
    "composer",
    "curl",
    "deno",
    "docker",
    "dotnet",
    "gcc",
    "git",
    "go",
    "gradle",
    "helm",
    "java",
    "jq",
    "just",
    "kubectl",
    "make",
    "mvn",
    "ninja",
    "node",
    "npm",
    "nvidia-smi",
    "php",
    "pnpm",
    "podman",
    "psql",
    "pwsh",
    "python3",
    "rsync",
    "ruby",
    "rustc",
    "rustup",
    "ssh",
    "swift",
    "task",
    "terraform",
    "uv",
    "yarn",
    "zig",
];

/// The keys of detected labels.
const FACTS: &[&str] = &["arch", "cpu", "executor", "mem", "os"];

/// The names of the systems and processors that windlass runs on.
const SYSTEMS: &[&str] = &["aarch64", "linux", "macos", "windows", "x86_64"];

/// The ways in which this build can execute an attempt.
const EXECUTORS: &[&str] = &["shell", "noop"];

/// Returns the labels of this machine.
#[expect(clippy::disallowed_methods, reason = "the search path is a fact of the machine")]
pub fn detect() -> Labels {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let facts = [OS.to_owned(), format!("os={OS}"), ARCH.to_owned(), format!("arch={ARCH}")];
    let cpu = thread::available_parallelism().ok().map(|count| format!("cpu={count}"));
    let memory = memory().map(|bytes| format!("mem={bytes}"));
    let executors = EXECUTORS.iter().map(|name| format!("executor={name}"));
    let host = std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let works =
        |tool: &&str| *tool != "docker" || docker_answers(host.as_deref(), runtime.as_deref());
    let tools = tools(&path).filter(works).map(str::to_owned);
    Labels::new(facts.into_iter().chain(cpu).chain(memory).chain(executors).chain(tools))
}

/// Returns whether a label is one that machines detect. A user has given the others.
pub fn is_detected(label: &str) -> bool {
    match label.split_once('=') {
        Some((key, _)) => FACTS.contains(&key),
        None => TOOLS.contains(&label) || SYSTEMS.contains(&label),
    }
}

/// Returns whether a Docker daemon accepts connections, because the program alone runs no container. A daemon on
/// another machine is assumed to, because a check could take long.
fn docker_answers(host: Option<&str>, runtime: Option<&Path>) -> bool {
    if let Some(host) = host {
        return match host.strip_prefix("unix://") {
            Some(socket) => connects(Path::new(socket)),
            None => true,
        };
    }
    let own = runtime.map(|folder| folder.join("docker.sock"));
    connects(Path::new("/var/run/docker.sock")) || own.is_some_and(|socket| connects(&socket))
}

#[cfg(unix)]
fn connects(socket: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(socket).is_ok()
}

#[cfg(not(unix))]
fn connects(_socket: &Path) -> bool {
    true
}

/// Returns those of the tools that a directory of the search path has.
fn tools(path: &OsStr) -> impl Iterator<Item = &'static str> {
    let has = move |tool: &&&str| {
        std::env::split_paths(path)
            .any(|folder| folder.join(format!("{tool}{EXE_SUFFIX}")).is_file())
    };
    TOOLS.iter().filter(has).copied()
}

/// Returns the bytes of memory: the machine's, or fewer if a container has fewer. `None` where there is no `/proc`.
fn memory() -> Option<u64> {
    let machine = total(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let limit = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = limit.and_then(|text| text.trim().parse::<u64>().ok());
    Some(limit.map_or(machine, |limit| limit.min(machine)))
}

/// Returns the bytes in the line `MemTotal:  16384 kB`.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_advertises_its_properties_in_both_forms() {
        let labels = detect();
        assert!(labels.has(OS) && labels.has(&format!("os={OS}")));
        assert!(labels.has(ARCH) && labels.has(&format!("arch={ARCH}")));
        assert!(labels.has("executor=shell") && labels.has("executor=noop"));
        assert!(labels.number("cpu").is_some_and(|count| count > 0));
    }

    #[cfg(unix)]
    #[test]
    fn docker_is_advertised_only_where_its_daemon_takes_connections() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("docker.sock");
        let host = format!("unix://{}", socket.display());
        assert!(!docker_answers(Some(&host), None));
        let daemon = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(docker_answers(Some(&host), None) && docker_answers(None, Some(folder.path())));
        drop(daemon);
        assert!(!docker_answers(Some(&host), None));
        assert!(docker_answers(Some("tcp://build.example:2375"), None));
    }

    #[test]
    fn detected_labels_are_distinguished_from_given_ones() {
        for label in detect().iter() {
            assert!(is_detected(label), "{label}");
        }
        assert!(!is_detected("gpu") && !is_detected("rack=7"));
    }

    #[test]
    fn tools_are_found_on_the_search_path_only() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(format!("docker{EXE_SUFFIX}")), "").unwrap();
        fs::create_dir(folder.path().join("git")).unwrap();
        let found: Vec<&str> = tools(folder.path().as_os_str()).collect();
        assert_eq!(found, ["docker"]);
    }

    #[test]
    fn memory_is_counted_in_bytes() {
        assert_eq!(total("MemFree: 1 kB\nMemTotal:       2048 kB\n"), Some(2048 * 1024));
        assert_eq!(total("nothing"), None);
    }
}
