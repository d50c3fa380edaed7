//! Does not compile.

use windlass::{Result, step};

#[step]
fn build() -> Result<u8> {
    Ok(1)
}

#[step]
async fn pick<T>() -> Result<u8> {
    Ok(1)
}

fn main() {}
