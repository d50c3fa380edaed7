//! Snapshots of the output: a scripted run of twelve steps, shown in every display kind.

mod demo;
mod ended_run;
mod live_run;
mod machine_formats;
mod many_steps;
mod scripted_run;
