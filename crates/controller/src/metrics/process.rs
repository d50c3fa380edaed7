//! The resources that this process uses, from `/proc`. Only Linux provides them.

use std::fs;

/// Ticks of `/proc` per second. Linux reports hundredths of a second to user programs on every machine that is still
/// built.
const TICKS: u64 = 100;

/// The resources that a process has used. Values that cannot be read are `None`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ProcessUsage {
    /// The CPU time in ticks.
    pub(super) cpu: Option<CpuTicks>,
    /// The resident memory in bytes.
    pub(super) rss: Option<u64>,
    pub(super) fds: Option<usize>,
    /// The start time, since 1970.
    pub(super) start: Option<CpuTicks>,
}

/// A time in hundredths of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CpuTicks(u64);

impl std::fmt::Display for CpuTicks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:02}", self.0 / TICKS, self.0 % TICKS)
    }
}

impl ProcessUsage {
    /// Reads the values of this process.
    pub(super) fn now() -> Self {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let fds = fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
        let metrics =
            Self::parse(&read("/proc/self/stat"), &read("/proc/self/status"), &read("/proc/stat"));
        Self { fds, ..metrics }
    }

    /// Parses the files `stat` and `status` of a process, and the machine's `stat`.
    fn parse(stat: &str, status: &str, machine: &str) -> Self {
        // The name in parentheses may contain anything, including parentheses and spaces.
        let behind_name = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
        let field = |at: usize| behind_name.split_whitespace().nth(at)?.parse::<u64>().ok();
        // Fields 14, 15 and 22 of proc_pid_stat(5). Its first two fields are before the rest.
        let cpu = field(11).zip(field(12)).map(|(user, system)| CpuTicks(user + system));
        let booted = line(machine, "btime");
        let began = field(19).zip(booted).map(|(since, booted)| CpuTicks(booted * TICKS + since));
        let rss = line(status, "VmRSS:").map(|kilobytes| kilobytes * 1024);
        Self { cpu, rss, fds: None, start: began }
    }
}

/// Returns the number on the line that begins with this word.
fn line(text: &str, word: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_process_with_any_name_are_read() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 900 0 0 0 150 25 0 0 20 0 9 0 4242 1 2 3";
        let status = "Name:\ta\nVmPeak:\t 9 kB\nVmRSS:\t  12 kB\n";
        let process = ProcessUsage::parse(stat, status, "cpu 1 2\nbtime 1000\n");
        let shown = |ticks: Option<CpuTicks>| ticks.map(|it| it.to_string()).unwrap_or_default();
        assert_eq!((&*shown(process.cpu), &*shown(process.start)), ("1.75", "1042.42"));
        assert_eq!(process.rss, Some(12 * 1024));
        assert_eq!(ProcessUsage::parse("", "", ""), ProcessUsage::default());
    }
}
