//! A typed fan-out: one step splits the work, the cells of a matrix do it in parallel, and one step sums up.
//!
//! `cargo run --example fan_out -- run -p text="one two three"`

use std::collections::BTreeMap;
use std::process::ExitCode;

use windlass::{Cells, Context, Input, Out, Param, Pipeline, Result, Target, step};

/// The number of cells that work in parallel.
const PARTS: usize = 4;

type Counts = BTreeMap<String, usize>;

/// Splits the words into parts
#[step]
async fn deal(text: Input<String>) -> Result<Vec<Vec<String>>> {
    let mut parts = vec![Vec::new(); PARTS];
    for (at, word) in text.split_whitespace().enumerate() {
        parts[at % PARTS].push(word.to_owned());
    }
    Ok(parts)
}

/// Counts the words of one part
#[step(matrix(part = 0..PARTS))]
async fn count(part: Target<usize>, deal: Out<Deal>) -> Result<Counts> {
    let mut counts = Counts::new();
    for word in &deal[*part] {
        *counts.entry(word.clone()).or_default() += 1;
    }
    Ok(counts)
}

/// Adds up all counts
#[step]
async fn gather(ctx: &Context, count: Cells<Count>) -> Result<Counts> {
    let mut sums = Counts::new();
    for (word, times) in count.outputs().flatten() {
        *sums.entry(word.clone()).or_default() += times;
    }
    ctx.log(format_args!("{sums:?}"));
    Ok(sums)
}

fn main() -> ExitCode {
    Pipeline::new("fan-out")
        .param("text", Param::text().default("to be or not to be"))
        .add(deal)
        .add(count)
        .add(gather)
        .main()
}
