//! The expression language of `if:` and `${{ }}`: small, pure, bounded, and the same everywhere.
//!
//! ```text
//! or          any | all ("or" all)*
//! and         all | not ("and" not)*
//! not         not | "not" not | comparison
//! comparison  operand (("==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in") operand)?
//! operand     "text" | 'text' | 12 | 1.5 | true | false | null | [a, b] | (any) | path | default(value, fallback)
//! path        name ("." name)*            name: [A-Za-z_][A-Za-z0-9_-]*
//! ```
//!
//! There is no arithmetic, no filter, no subscript and no loop: what is more than a comparison belongs into a step, whose
//! output can be read here. A backslash in a text stands for itself. The status functions `success()`, `failure()` and
//! `always()` belong to `if:` alone, see [`IfCondition`].
//!
//! # What values do
//!
//! Values are JSON. Params, matrix values and outputs mostly arrive as text, so a text may meet a number:
//!
//! - **`==`, `!=`** never fail. Numbers compare as numbers. A text equals a number or boolean that is *spelled* so:
//!   `"3" == 3` and `"true" == true` hold, `"3.0" == 3` and `"abc" == 3` do not. Two texts compare letter by letter.
//!   A number that is not written in its shortest form (`3.10`, `007`) is refused: it would silently be another one.
//! - **`<`, `<=`, `>`, `>=`** compare numbers, and texts that are numbers as such. Anything else is an error. Versions are
//!   no numbers.
//! - **`in`** asks whether a list has an element that is `==`, or whether a text contains a text.
//! - **`and`, `or`, `not`, `if:`** take booleans only: there is no truthiness to remember. They stop at the first operand
//!   that decides.
//! - **A missing value is null.** `default(value, fallback)` is the fallback if the value is null; an empty text is not.
//!   Null in a string is an error that names the path. Lists and objects in a string are JSON.
//!
//! # Why not a library
//!
//! The language was to come from minijinja. Its operators cannot be told to refuse a non-boolean, to compare `"3"` with
//! `3`, or to point at the operand that was wrong, and its grammar is far larger than this one; what was needed in front
//! of it (tokens with spans, a check of the shape, names with `-`) was already most of this parser.

mod condition;
mod error;
mod evaluate;
mod expression;
mod node;
mod operators;
mod parse;
mod scope;
mod template;
mod token;

pub use condition::IfCondition;
pub use error::{ExprError, code};
pub use expression::{ExprPath, Expression};
pub use scope::ExprScope;
pub(crate) use template::expression_at;
pub use template::{Template, TemplatePiece};
