//! Does not compile.

use windlass::{Result, step};

#[step]
async fn test(count: u8) -> Result<u8> {
    Ok(count)
}

fn main() {}
