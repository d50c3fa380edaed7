//! Every option, and every parameter.

use serde::Deserialize;
use windlass::{
    Cells, Context, Ended, Error, Input, Out, Param, Pipeline, Result, Target, step,
};

fn is_flaky(error: &Error) -> bool {
    error.type_name().is_empty()
}

const LIMIT: &str = "15m";

#[step(
    about = "Fetches",
    name = "fetch-it",
    type = FetchStep,
    timeout = LIMIT,
    kill_grace = "5s",
    wait_for_worker = "10m",
    wait_for_lock = "1h",
    dir = "app",
    requires = ["docker", "cpu>=4"],
    prefers = "ssd",
    tags = ["slow"],
    secrets = ["TOKEN"],
    nodes = ["w1"],
    not_on = "w2",
    priority = 10,
    pin,
    lock = ["prod", "farm"],
    lock(name = "bench", order = "newest-first"),
    retry(times = 2, wait = "5s..1m", on = ["timed_out"], when = is_flaky, elsewhere, lost = 0),
    when = "params.channel == \"stable\"",
    env(LEVEL = "${{ params.channel }}"),
    with(channel = "${{ params.channel }}"),
    ignore_failure,
    idempotent = "fetch-${{ params.channel }}",
    stop_on_lost_contact,
)]
pub async fn fetch(ctx: &Context, channel: Input<String>, note: Option<Input<u8>>) -> Result<u8> {
    ctx.log(&*channel);
    Ok(note.map_or(0, |note| *note))
}

#[derive(Deserialize)]
struct On {
    os: String,
    level: u8,
}

#[step(matrix(os = ["linux"], level = 1..3), per_worker = 1, retry = 2)]
async fn test(on: Target<On>, fetch: Out<FetchStep>) -> Result<String, std::fmt::Error> {
    Ok(format!("{} {} {}", on.os, on.level, *fetch))
}

#[step(always, after = [FetchStep, "test"])]
async fn tell(fetch: Ended<FetchStep>, maybe: Option<Out<FetchStep>>, test: Cells<Test>) {
    drop((fetch, maybe, test));
}

#[step(on_failure)]
async fn mend(context: Context, _fetch: Out<FetchStep>) -> Result<()> {
    drop(context);
    Ok(())
}

fn main() {
    let channel = Param::one_of(["beta", "stable"]).default("beta");
    let pipeline = Pipeline::new("ship").param("channel", channel);
    let pipeline = pipeline.add(fetch).add(Test).add(tell).add(mend);
    pipeline.plan(&Default::default()).expect("it is sound");
}
