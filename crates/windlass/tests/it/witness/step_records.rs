//! What steps wrote of themselves, and what follows from it.
//!
//! A line is `KIND STEP FENCE WORKER HOST SECONDS`: `begin` and `end` of a step, and `alive` from each of its processes as long as it
//! lives. They are appended to one file, so their order is that of the events; seconds are since the start of the machine, for
//! readers.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// The lines of a round.
#[derive(Clone, Debug, Default)]
pub(super) struct StepRecords {
    lines: Vec<String>,
}

impl StepRecords {
    pub(super) const fn new(lines: Vec<String>) -> Self {
        Self { lines }
    }

    /// The fence and worker of the step that wrote the last `begin`.
    pub(super) fn last_holder(&self) -> Option<(u64, String)> {
        let line = self.lines.iter().rfind(|line| line.starts_with("begin "))?;
        let words: Vec<&str> = line.split(' ').collect();
        Some((words.get(2)?.parse().ok()?, (*words.get(3)?).to_owned()))
    }

    /// Returns the number of lines of a step.
    pub(super) fn lines_of(&self, step: &str) -> usize {
        self.lines.iter().filter(|line| line.split(' ').nth(1) == Some(step)).count()
    }

    /// Proves that at no line more steps were alive than the lock has slots.
    pub(super) fn check(&self, slots: usize) -> Result<(), String> {
        let mut lifetimes: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
        let mut hosts: BTreeMap<u64, &str> = BTreeMap::new();
        for (index, line) in self.lines.iter().enumerate() {
            let fence = line.split(' ').nth(2).and_then(|fence| fence.parse().ok());
            let fence = fence.ok_or_else(|| format!("line {index} names no fence: {line}"))?;
            let host = line.split(' ').nth(4).unwrap_or_default();
            if *hosts.entry(fence).or_insert(host) != host {
                return Err(format!("{fence} runs on a second host at line {index}: {line}"));
            }
            lifetimes.entry(fence).or_insert((index, index)).1 = index;
        }
        for (fence, (begun, _)) in &lifetimes {
            let alive = |lifetime: &&(usize, usize)| lifetime.0 <= *begun && *begun <= lifetime.1;
            let holders = lifetimes.values().filter(alive).count();
            if holders > slots {
                return Err(format!("{holders} hold the lock at line {begun}, as {fence} begins"));
            }
        }
        Ok(())
    }

    /// Proves that each step of a run has one accepted outcome, and that it ended under that fence.
    pub(super) fn check_outcomes(&self, run: &Value) -> Result<(), String> {
        for step in run["steps"].as_array().ok_or("it lists no steps")? {
            let name = step["name"].as_str().unwrap_or_default();
            let attempts = step["attempts"].as_array().ok_or("it lists no attempts")?;
            let accepted: Vec<&Value> =
                attempts.iter().filter(|it| it["outcome"] == "succeeded").collect();
            let [accepted] = accepted[..] else {
                return Err(format!("{name} has {} accepted outcomes", accepted.len()));
            };
            let end = format!("end {name} {} ", accepted["fence"]);
            if !self.lines.iter().any(|line| line.starts_with(&end)) {
                return Err(format!(
                    "{name} was accepted under {}, and did not end",
                    accepted["fence"]
                ));
            }
        }
        Ok(())
    }
}

impl fmt::Display for StepRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().enumerate().try_for_each(|(index, line)| writeln!(f, "{index}: {line}"))
    }
}

#[test]
fn a_former_holder_that_is_alive_after_the_next_has_begun_is_an_overlap() {
    let of = |lines: &[&str]| StepRecords::new(lines.iter().map(|it| (*it).to_owned()).collect());
    let apart = ["begin a 1 w h 1", "alive a 1 w h 2", "begin b 2 v i 3", "end b 2 v i 4"];
    assert_eq!(of(&apart).check(1), Ok(()));
    assert_eq!(of(&apart).last_holder(), Some((2, "v".to_owned())));
    assert_eq!(of(&apart).lines_of("b"), 2);
    let overlap = ["begin a 1 w h 1", "begin b 2 v i 3", "alive a 1 w h 3"];
    of(&overlap).check(1).unwrap_err();
    assert_eq!(of(&overlap).check(2), Ok(()));
    of(&["begin a 1 w h 1", "alive a 1 w i 2"]).check(2).unwrap_err();
}
