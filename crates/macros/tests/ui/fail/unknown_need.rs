//! Does not compile.

use windlass::{Out, Result, step};

#[step]
async fn build() -> Result<u8> {
    Ok(1)
}

#[step]
async fn test(build: Out<Biuld>) -> Result<u8> {
    Ok(*build)
}

fn main() {}
