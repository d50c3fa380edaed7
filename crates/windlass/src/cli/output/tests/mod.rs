//! What people see, as snapshots: a scripted run of twelve steps, shown in every manner.

mod demo;
mod ended;
mod film;
mod live;
mod machines;
mod many;
