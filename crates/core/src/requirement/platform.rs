//! Names of operating systems and processors: the values of the facts `os` and `arch`.
//!
//! Workers advertise the platform names of Rust. A name of another tool (`ubuntu-latest`, `amd64`) matches no worker, so a
//! step that requires it would never run.

/// Operating systems of workers.
const SYSTEMS: &[&str] = &[
    "aix",
    "android",
    "dragonfly",
    "freebsd",
    "fuchsia",
    "haiku",
    "illumos",
    "ios",
    "linux",
    "macos",
    "netbsd",
    "openbsd",
    "plan9",
    "redox",
    "solaris",
    "wasi",
    "windows",
];

/// Processors of workers.
const PROCESSORS: &[&str] = &[
    "aarch64",
    "arm",
    "loongarch64",
    "m68k",
    "mips",
    "mips64",
    "powerpc",
    "powerpc64",
    "riscv32",
    "riscv64",
    "s390x",
    "sparc",
    "sparc64",
    "wasm32",
    "x86",
    "x86_64",
];

/// Prefixes of system names in other tools.
const SYSTEM_ALIASES: &[(&str, &str)] = &[
    ("alma", "linux"),
    ("alpine", "linux"),
    ("arch", "linux"),
    ("centos", "linux"),
    ("debian", "linux"),
    ("fedora", "linux"),
    ("gnu", "linux"),
    ("linux", "linux"),
    ("redhat", "linux"),
    ("rhel", "linux"),
    ("rocky", "linux"),
    ("suse", "linux"),
    ("ubuntu", "linux"),
    ("apple", "macos"),
    ("darwin", "macos"),
    ("mac", "macos"),
    ("osx", "macos"),
    ("cygwin", "windows"),
    ("mingw", "windows"),
    ("msys", "windows"),
    ("win", "windows"),
];

/// Prefixes of processor names in other tools.
const PROCESSOR_ALIASES: &[(&str, &str)] = &[
    ("amd64", "x86_64"),
    ("x64", "x86_64"),
    ("x86-64", "x86_64"),
    ("intel", "x86_64"),
    ("arm64", "aarch64"),
    ("armv8", "aarch64"),
    ("armhf", "arm"),
    ("armv6", "arm"),
    ("armv7", "arm"),
    ("386", "x86"),
    ("i386", "x86"),
    ("i686", "x86"),
    ("ppc64", "powerpc64"),
    ("riscv", "riscv64"),
];

/// A value of `os` or `arch` that no worker has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPlatform {
    /// The meaning of the fact.
    pub what: &'static str,
    /// The name that was probably meant.
    pub meant: Option<&'static str>,
    /// All known names.
    pub known: &'static [&'static str],
}

/// Returns the error if the fact is `os` or `arch` and its value names no platform.
pub fn unknown_platform(key: &str, value: &str) -> Option<UnknownPlatform> {
    let (what, known, aliases) = match key.to_lowercase().as_str() {
        "os" => ("operating system", SYSTEMS, SYSTEM_ALIASES),
        "arch" => ("processor", PROCESSORS, PROCESSOR_ALIASES),
        _ => return None,
    };
    let value = value.to_lowercase();
    if known.contains(&&*value) {
        return None;
    }
    let mut aliases = aliases.iter().filter(|(alias, _)| value.starts_with(alias));
    Some(UnknownPlatform { what, meant: aliases.next().map(|(_, meant)| *meant), known })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(key: &str, value: &str) -> Option<&'static str> {
        unknown_platform(key, value).and_then(|unknown| unknown.meant)
    }

    #[test]
    fn names_of_other_tools_are_corrected() {
        assert_eq!(meant("os", "ubuntu-latest"), Some("linux"));
        assert_eq!(meant("os", "Darwin"), Some("macos"));
        assert_eq!(meant("os", "windows-2022"), Some("windows"));
        assert_eq!(meant("arch", "amd64"), Some("x86_64"));
        assert_eq!(meant("arch", "arm64"), Some("aarch64"));
        assert!(unknown_platform("os", "beos").is_some_and(|unknown| unknown.meant.is_none()));
    }

    #[test]
    fn names_that_workers_have_are_known() {
        assert_eq!(unknown_platform("os", "linux"), None);
        assert_eq!(unknown_platform("arch", "aarch64"), None);
        assert_eq!(unknown_platform("os", "Linux"), None, "labels ignore case");
        assert_eq!(unknown_platform("zone", "ubuntu-latest"), None, "another fact");
    }
}
