//! Does not compile.

use windlass::{Pipeline, Result};

async fn build() -> Result<u8> {
    Ok(1)
}

fn main() {
    let _pipeline = Pipeline::new("ship").add(build);
}
