//! Leaders and workers that leave letters for each other, in virtual time.

mod crew;
mod stories;
mod storms;
