//! A pipeline and its params become a plan.
//!
//! What reads only params is settled here and now. What the engine must know (labels, locks, timeouts, conditions) is
//! settled for each cell of a matrix; what only a worker must know stays a template in the step's [`Work`], which all
//! cells share: a cell carries its values in its name.

mod assembly;
mod cell;
mod cells;
mod condition;
mod expanded;
mod handout;
pub mod interpreter;
mod params;
mod planner;
mod render;
mod selection;
mod settings;
mod specs;
mod work;

pub use cell::{cell_name, cell_values};
pub use expanded::{Expanded, ExpandedStep, Inputs};
pub use handout::Handout;
pub use planner::expand;
pub use selection::{Selection, SelectionError};
pub use work::{Action, Work};
