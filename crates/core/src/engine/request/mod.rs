//! Requests to the engine and its answers.

mod call;
mod engine_request;
mod resume_run;

pub use call::{AnswerReader, EngineCall};
pub use engine_request::{
    EngineAnswer, EngineDecision, EngineRequest, RequestDenial, SubmitRun, SubmitWarning,
};
pub use resume_run::ResumeRun;
