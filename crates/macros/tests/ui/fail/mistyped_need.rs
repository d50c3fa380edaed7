//! Does not compile.

use windlass::{Out, Result, step};

#[step]
async fn build() -> Result<String> {
    Ok(String::new())
}

#[step]
async fn test(build: Out<Build>) -> Result<u8> {
    let size: u8 = *build;
    Ok(size)
}

fn main() {}
