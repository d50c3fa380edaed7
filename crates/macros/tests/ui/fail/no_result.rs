//! Does not compile.

use windlass::step;

#[step]
async fn build() -> u8 {
    1
}

fn main() {}
