//! The controller's doors as others find them: what it starts with, whether it is ready, and how it ends.

mod arrange;
mod ready;
mod starting;
