//! The repository as text: its files, their functions, types and prose, and the table that `house` prints.
//!
//! It reads Rust by lines and words, without a parser. `tests/tidy` holds the rules that build on it.

mod measures;
mod prose;
mod repository;
mod rust_items;
mod rust_text;

pub use measures::{HouseMeasures, LineSpread};
pub use prose::{ProseLine, is_person_word};
pub use repository::{RepositoryFile, repository_files, repository_root};
pub use rust_items::{
    TypeDefinitions, function_length, function_lengths, is_function, words_of_name,
};
