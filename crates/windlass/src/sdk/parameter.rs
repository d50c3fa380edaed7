//! What can be a parameter of a step.

use super::context::Context;
use super::error::Result;
use super::takes::Takes;

/// Something that the function of a step can have as a parameter: [`Out`](super::Out), [`Cells`](super::Cells),
/// [`Target`](super::Target), [`Input`](super::Input), [`Ended`](super::Ended), an `Option` of an `Out` or an `Input`, or
/// one of your own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a step",
    label = "not something that a step is given",
    note = "a step takes `ctx: &Context`, the result of a step (`build: Out<Build>`, or `Option<Out<Build>>` if it may be \
            missing), those of all cells (`tests: Cells<Test>`), how a step ended (`build: Ended<Build>`), the target of its \
            matrix (`on: Target<String>`) and values (`channel: Input<String>`)"
)]
pub trait Parameter: Sized {
    /// Declares what is taken, for the parameter of this name.
    fn takes(name: &'static str, takes: &mut Takes);

    /// What the attempt is given.
    fn given(name: &'static str, context: &Context) -> Result<Self>;
}
