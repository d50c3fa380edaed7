//! Does not compile.

use windlass::{Cells, Out, Result, step};

#[step(matrix = ["linux", "windows"])]
async fn test() -> Result<u8> {
    Ok(1)
}

#[step]
async fn one() -> Result<u8> {
    Ok(1)
}

#[step]
async fn sum(test: Out<Test>, one: Cells<One>) -> Result<u8> {
    Ok(*test)
}

fn main() {}
