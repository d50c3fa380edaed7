//! Does not compile.

use windlass::{Result, step};

struct Handle;

#[step]
async fn open() -> Result<Handle> {
    Ok(Handle)
}

fn main() {}
