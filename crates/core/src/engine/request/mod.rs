//! Requests to the engine and its answers.

mod engine_request;

pub use engine_request::{
    EngineAnswer, EngineDecision, EngineRequest, RequestDenial, SubmitRun, SubmitWarning,
};
