//! Parameter types of steps.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use windlass_core::outcome::StepStatus;

use super::context::Context;
use super::error::Result;
use super::parameter::Parameter;
use super::step::{Single, Step};
use super::takes::Takes;

/// The result of a need, which may have run on another machine. It is used like the result itself.
pub struct Out<S: Step>(Arc<S::Output>);

impl<S: Step> Out<S> {
    /// Wraps a result, to test a function.
    pub fn new(output: S::Output) -> Self {
        Self(Arc::new(output))
    }

    pub(super) const fn shared(output: Arc<S::Output>) -> Self {
        Self(output)
    }

    /// The result itself; a copy if other steps can take it from the memory of this worker.
    pub fn into_inner(self) -> S::Output
    where
        S::Output: Clone,
    {
        Arc::unwrap_or_clone(self.0)
    }
}

impl<S: Step> Deref for Out<S> {
    type Target = S::Output;

    fn deref(&self) -> &S::Output {
        &self.0
    }
}

impl<S: Step<Output: fmt::Display>> fmt::Display for Out<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<S: Step<Output: fmt::Debug>> fmt::Debug for Out<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<S: Single> Parameter for Out<S> {
    fn takes(_: &'static str, takes: &mut Takes) {
        takes.step::<S>();
    }

    fn given(_: &'static str, context: &Context) -> Result<Self> {
        context.result::<S>()
    }
}

/// An optional need: the step waits for it if it is part of the run, and is never blocked by it.
impl<S: Single> Parameter for Option<Out<S>> {
    fn takes(_: &'static str, takes: &mut Takes) {
        takes.optional::<S>();
    }

    fn given(_: &'static str, context: &Context) -> Result<Self> {
        Ok(context.ended::<S>()?.output)
    }
}

/// The final status of a need, for steps that run whether their needs succeeded or not.
#[non_exhaustive]
pub struct Ended<S: Step> {
    /// The final status.
    pub status: StepStatus,
    /// Its result, if it succeeded.
    pub output: Option<Out<S>>,
}

impl<S: Step> Ended<S> {
    /// Creates an end, to test a function.
    pub const fn new(status: StepStatus, output: Option<Out<S>>) -> Self {
        Self { status, output }
    }
}

impl<S: Step<Output: fmt::Debug>> fmt::Debug for Ended<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Ended");
        shown.field("status", &self.status).field("output", &self.output).finish()
    }
}

impl<S: Single> Parameter for Ended<S> {
    fn takes(_: &'static str, takes: &mut Takes) {
        takes.step::<S>();
    }

    fn given(_: &'static str, context: &Context) -> Result<Self> {
        context.ended::<S>()
    }
}

macro_rules! given {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// It is used like the value itself; `.clone()` clones the value.
        #[derive(Debug, PartialEq, Eq)]
        pub struct $name<T>(pub T);

        impl<T: fmt::Display> fmt::Display for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl<T> Deref for $name<T> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.0
            }
        }
    };
}

given! {
    /// The target of the cell that runs: a value of a plain list, or a struct with a field for each axis.
    Target
}

given! {
    /// A value that is passed with `with:`; otherwise the param of the pipeline with the name of the parameter.
    Input
}

impl<T: DeserializeOwned> Parameter for Target<T> {
    fn takes(_: &'static str, takes: &mut Takes) {
        takes.target::<T>();
    }

    fn given(_: &'static str, context: &Context) -> Result<Self> {
        context.target().map(Self)
    }
}

impl<T: DeserializeOwned> Parameter for Input<T> {
    fn takes(name: &'static str, takes: &mut Takes) {
        takes.value::<T>(name);
    }

    fn given(name: &'static str, context: &Context) -> Result<Self> {
        context.value(name).map(Self)
    }
}

impl<T: DeserializeOwned> Parameter for Option<Input<T>> {
    fn takes(name: &'static str, takes: &mut Takes) {
        takes.optional_value::<T>(name);
    }

    fn given(name: &'static str, context: &Context) -> Result<Self> {
        Ok(context.optional_value(name)?.map(Input))
    }
}

/// The context by value, for functions that keep it.
impl Parameter for Context {
    fn takes(_: &'static str, _: &mut Takes) {}

    fn given(_: &'static str, context: &Context) -> Result<Self> {
        Ok(context.clone())
    }
}
