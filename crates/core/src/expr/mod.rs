//! The expression language of `if:` and `${{ }}`: small, pure and bounded.
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
//! There is no arithmetic, no filter, no subscript and no loop: such computations belong into a step, whose output an
//! expression can read. A backslash in a string is literal. The status functions `success()`, `failure()` and `always()`
//! are allowed only in `if:`, see [`IfCondition`].
//!
//! # Semantics
//!
//! Values are JSON. Params, matrix values and outputs are mostly strings, so a string may be compared with a number:
//!
//! - **`==`, `!=`** never fail. Numbers compare as numbers. A string equals a number or boolean with the same *spelling*:
//!   `"3" == 3` and `"true" == true` are true, `"3.0" == 3` and `"abc" == 3` are false. Strings compare exactly.
//!   A number literal that is not in its shortest form (`3.10`, `007`) is refused: it would silently change.
//! - **`<`, `<=`, `>`, `>=`** compare numbers, and strings that are numbers. Anything else is an error. Versions are not
//!   numbers.
//! - **`in`** tests whether a list has an equal element, or whether a string contains a string.
//! - **`and`, `or`, `not`, `if:`** take only booleans; other values are not converted. They stop at the first operand that
//!   decides.
//! - **A missing value is null.** `default(value, fallback)` returns the fallback if the value is null, but not if it is an
//!   empty string. Null in a string is an error that names the path. Lists and objects in a string become JSON.
//!
//! # Why not a library
//!
//! minijinja was considered. Its operators cannot refuse a non-boolean, compare `"3"` with `3`, or point at the wrong
//! operand, and its grammar is far larger. The code required in front of it (tokens with spans, a check of the form, names
//! with `-`) is already most of this parser.

mod condition;
mod error;
mod evaluate;
mod expression;
mod foreign_sign;
mod node;
mod operators;
mod parse;
mod reference;
mod scope;
mod template;
mod token;
mod vocabulary;

pub use condition::IfCondition;
pub use error::{ExprError, code};
pub use expression::{ExprPath, Expression};
pub use reference::expression_reference;
pub use scope::ExprScope;
pub(crate) use template::expression_at;
pub use template::{Template, TemplatePiece};
