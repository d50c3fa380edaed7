//! Objects: files of steps, for workers and clients on other machines.
//!
//! Every controller with the objects answers, whether it leads or not: what a call stores is durable and shared before it is
//! answered, and needs no decision.
//!
//! The id of an object is the capability to read it. It is a hash of 256 bits that only a client that has the bytes, or was
//! told the id, can name. So a token that may read runs may read any object that it can name, and no route lists ids.
//!
//! | file | content |
//! |---|---|
//! | `batches` | which objects are missing, small objects in batches |
//! | `uploads` | large objects in pieces |
//! | `download` | an object, or a range of it |
//! | `object_body`, `answer_budget` | bodies of requests; the memory of objects in answers |
//! | `calls` | calls on the store: deadline and refusals |

mod answer_budget;
mod batches;
mod calls;
mod download;
mod object_body;
mod uploads;

pub(super) use answer_budget::ObjectAnswerBudget;
pub(super) use batches::{fetch, missing, put};
pub(super) use download::show;
pub(super) use uploads::{AppendQuery, FinishQuery, append, finish, uploaded};
