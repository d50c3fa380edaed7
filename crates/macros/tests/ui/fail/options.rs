//! Does not compile.

use windlass::{Result, step};

#[step(timout = "5m")]
async fn a() -> Result<u8> {
    Ok(1)
}

#[step(pin = true)]
async fn b() -> Result<u8> {
    Ok(1)
}

#[step(timeout)]
async fn c() -> Result<u8> {
    Ok(1)
}

#[step(retry(tries = 3))]
async fn d() -> Result<u8> {
    Ok(1)
}

#[step(priority = "high")]
async fn e() -> Result<u8> {
    Ok(1)
}

fn main() {}
