//! The types that a parameter of a step can have.

use super::context::Context;
use super::error::Result;
use super::takes::Takes;

/// The type of a parameter of a step: [`Out`](super::Out), [`Cells`](super::Cells),
/// [`Target`](super::Target), [`Input`](super::Input), [`Ended`](super::Ended), an `Option` of an `Out` or an `Input`, or
/// one of your own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a step",
    label = "not a parameter type of steps",
    note = "a step takes `ctx: &Context`, the result of a step (`build: Out<Build>`, or `Option<Out<Build>>` if it may be \
            missing), those of all cells (`tests: Cells<Test>`), how a step ended (`build: Ended<Build>`), the target of its \
            matrix (`on: Target<String>`) and values (`channel: Input<String>`)"
)]
pub trait Parameter: Sized {
    /// Declares the results or values that a parameter of this name takes.
    fn takes(name: &'static str, takes: &mut Takes);

    /// The value of the parameter in an attempt.
    fn given(name: &'static str, context: &Context) -> Result<Self>;
}
