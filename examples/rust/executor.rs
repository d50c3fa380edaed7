//! A custom executor, which runs scripts in a language of its own, and a probe, which detects a label of the worker.
//!
//! `cargo run --example executor -- run examples/rust/executor.yml`

use std::collections::BTreeMap;
use std::process::ExitCode;

use windlass::{Cli, Context, Error, Result, ScriptExecutor};

/// The maximum number of operands that wait for an operator.
const DEPTH: usize = 64;

/// Evaluates reverse Polish notation. Each line is a name and its value: `total 2 3 + 4 *`.
struct Rpn;

impl ScriptExecutor for Rpn {
    type Output = BTreeMap<String, f64>;

    async fn run(&self, ctx: &Context, script: &str) -> Result<Self::Output> {
        let mut sums = BTreeMap::new();
        for line in script.lines().filter(|line| !line.trim().is_empty()) {
            let (name, sum) = line.trim().split_once(' ').unwrap_or((line, ""));
            let worth = worth(sum).map_err(|error| error.context(format!("in `{line}`")))?;
            ctx.log(format_args!("{name} = {worth}"));
            sums.insert(name.to_owned(), worth);
        }
        Ok(sums)
    }
}

fn worth(sum: &str) -> Result<f64> {
    let mut stack: Vec<f64> = Vec::new();
    for word in sum.split_whitespace() {
        let two = |stack: &mut Vec<f64>| {
            let (b, a) = stack.pop().zip(stack.pop())?;
            Some((a, b))
        };
        let too_few = || Error::msg(format!("`{word}` takes two numbers"));
        let next = match word {
            "+" => two(&mut stack).map(|(a, b)| a + b).ok_or_else(too_few)?,
            "-" => two(&mut stack).map(|(a, b)| a - b).ok_or_else(too_few)?,
            "*" => two(&mut stack).map(|(a, b)| a * b).ok_or_else(too_few)?,
            number => number.parse()?,
        };
        stack.push(next);
        if stack.len() > DEPTH {
            return Err(Error::msg("too many numbers wait for an operator"));
        }
    }
    stack.pop().ok_or_else(|| Error::msg("a sum of nothing"))
}

/// Detects labels of the machine.
fn depth() -> Vec<String> {
    vec![format!("rpn-depth={DEPTH}")]
}

fn main() -> ExitCode {
    Cli::new().executor("rpn", Rpn).probe(depth).main()
}
