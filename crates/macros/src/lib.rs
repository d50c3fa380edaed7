//! The attribute `#[step]` of windlass, which is documented there.
//!
//! `step_function` reads the async function, `step_options` the options in parentheses, and `expand` writes the step.

mod expand;
mod nearest;
mod step_function;
mod step_option;
mod step_options;

use proc_macro::TokenStream;

/// Makes a step of an async function.
///
/// `async fn build_image(..)` becomes the type `BuildImage`, a step called `build_image`, and the function
/// `build_image()`, which refers to it in a pipeline. The function itself is `BuildImage::call`.
///
/// The function can take `ctx: &Context`, the result `fetch: Out<Fetch>` of the step `Fetch`, which thereby becomes a need,
/// and every other `Parameter`. It returns nothing or a `Result`.
///
/// Options are those of `Options`, as `name`, `name = value` or `name(…)`:
///
/// ```text
/// #[step(
///     about = "One line; else the first of the documentation", name = "build-image", type = BuildStep,
///     timeout = "15m", kill_grace = "5s", wait_for_worker = "10m", wait_for_lock = "1h", dir = "app",
///     requires = ["docker", "cpu>=4"], prefers = "ssd", tags = ["slow"], secrets = ["TOKEN"],
///     nodes = ["w1"], not_on = ["w2"], per_worker = 2, priority = 10, pin,
///     lock = "prod", lock(name = "farm", order = "newest-first"),
///     retry = 2, retry(times = 2, wait = "5s..1m", on = ["timed_out"], when = is_flaky, elsewhere, lost = 0),
///     matrix = ["linux", "windows"], matrix(os = ["linux", "windows"], db = ["sqlite", "postgres"]),
///     when = "params.channel == \"stable\"", always, on_failure,
///     after = [Fetch], env(DB = "${{ matrix.db }}"), with(channel = "${{ params.channel }}"),
///     idempotent = "deploy-${{ params.version }}", ignore_failure, stop_on_lost_contact,
/// )]
/// ```
#[proc_macro_attribute]
pub fn step(options: TokenStream, function: TokenStream) -> TokenStream {
    expand::step(options.into(), function.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
