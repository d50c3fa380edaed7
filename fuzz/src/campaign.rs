//! Mutates inputs and checks the results until the time is over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::check::{FuzzFinding, FuzzTarget};
use crate::minimize::cut;
use crate::mutate::mutated;
use crate::rng::FuzzRng;
use crate::watchdog::{self, checked, now};

/// The maximum number of inputs to mutate, corpus included.
const POOL_MAX: usize = 20_000;

/// The maximum number of distinct results; the pool is full long before.
const SHAPES_MAX: usize = 100_000;

/// The maximum number of findings: more of them usually have the same cause.
const FINDINGS_MAX: usize = 200;

/// A search with one seed.
#[derive(Debug)]
pub(crate) struct FuzzCampaign {
    target: FuzzTarget,
    seed: u64,
    chance: FuzzRng,
    pool: Vec<Vec<u8>>,
    /// The results of inputs so far.
    shapes: BTreeSet<String>,
    /// The number of findings by key.
    findings: BTreeMap<String, u64>,
    executions: u64,
    slowest: Duration,
}

impl FuzzCampaign {
    /// Creates a search that begins with the corpus.
    pub(crate) fn new(target: FuzzTarget, seed: u64) -> Self {
        Self {
            target,
            seed,
            chance: FuzzRng(seed),
            pool: corpus(target).expect("the corpus is beside the program's source"),
            shapes: BTreeSet::new(),
            findings: BTreeMap::new(),
            executions: 0,
            slowest: Duration::ZERO,
        }
    }

    /// Searches for this long and reports findings. Returns whether there are none.
    pub(crate) fn run(mut self, time: Duration) -> bool {
        let current = Self::folder().join(format!("{}-{}-current", self.target.name(), self.seed));
        let file = File::create(&current).expect("there is room for a file");
        watchdog::watch(current.clone());
        let began = now();
        for at in 0..self.pool.len() {
            self.execute(&file, self.pool[at].clone());
        }
        while began.elapsed() < time {
            let input = mutated(&mut self.chance, &self.pool, self.target.words());
            self.execute(&file, input);
        }
        drop(fs::remove_file(current));
        self.tell(began.elapsed())
    }

    fn execute(&mut self, current: &File, input: Vec<u8>) {
        note(current, &input).expect("there is room for one input");
        let (result, took) = checked(self.target, &input);
        self.executions += 1;
        self.slowest = self.slowest.max(took);
        match result {
            Ok(shape) => {
                let mut new = false;
                for part in shape.split(" / ") {
                    new |= self.shapes.len() < SHAPES_MAX && self.shapes.insert(part.to_owned());
                }
                if new && self.pool.len() < POOL_MAX {
                    self.pool.push(input);
                }
            }
            Err(finding) => self.found(finding, &input),
        }
    }

    fn found(&mut self, finding: FuzzFinding, input: &[u8]) {
        if let Some(known) = self.findings.get_mut(&finding.key) {
            *known += 1;
            return;
        }
        if self.findings.len() == FINDINGS_MAX {
            return;
        }
        let input = cut(self.target, input, &finding.key);
        let detail = match checked(self.target, &input).0 {
            Err(of_input) if of_input.key == finding.key => of_input.detail,
            _ => finding.detail,
        };
        let name = format!("{}-{}-{}", self.target.name(), self.seed, self.findings.len());
        fs::write(Self::folder().join(name), &input).expect("there is room for one input");
        let shown = String::from_utf8_lossy(&input);
        println!("== {}\n{detail}\ninput: {shown:?}\n", finding.key);
        self.findings.insert(finding.key, 1);
    }

    fn folder() -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crashes");
        fs::create_dir_all(&folder).expect("there is room for a folder");
        folder
    }

    fn tell(&self, took: Duration) -> bool {
        let (name, seed, executions) = (self.target.name(), self.seed, self.executions);
        println!(
            "{name}, seed {seed}: {executions} executions in {:.0} s, {} shapes, slowest {:?}, {} findings",
            took.as_secs_f64(),
            self.shapes.len(),
            self.slowest,
            self.findings.len(),
        );
        for (key, times) in &self.findings {
            println!("{times:>8} times: {key}");
        }
        self.findings.is_empty()
    }
}

/// Writes the input to a file, where it remains if the process dies.
fn note(mut file: &File, input: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all_at(input, 0)?;
    file.flush()
}

/// The files of the corpus, in the order of their names.
fn corpus(target: FuzzTarget) -> io::Result<Vec<Vec<u8>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    paths.iter().map(fs::read).collect()
}
