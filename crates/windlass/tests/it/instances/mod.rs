//! One run by several processes that meet at a link and nowhere else.

mod again;
pub(crate) mod arrange;
mod crowd;
mod deaths;
mod expected;
mod faults;
mod lapse;
mod letters;
mod pace;
mod parity;
mod parts;
mod way;
mod wishes;
