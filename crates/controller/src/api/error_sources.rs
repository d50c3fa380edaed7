//! The refusals that other errors become.

use axum::http::StatusCode;
use windlass_core::engine::RequestDenial;
use windlass_store::archive::FindRunError;
use windlass_store::db::StoreError;

use super::api_error::ApiError;
use crate::{LogIngestError, NotLeader};

impl From<NotLeader> for ApiError {
    fn from(_: NotLeader) -> Self {
        let detail = "this controller does not lead now: ask again in a moment".to_owned();
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "not_leader", detail)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "store_failed", error.to_string())
    }
}

impl From<LogIngestError> for ApiError {
    fn from(error: LogIngestError) -> Self {
        let (status, code) = match error {
            LogIngestError::TooManyPieces { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            LogIngestError::TooManyStrangeLogs { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, "too_many_requests")
            }
            LogIngestError::ResultNotRead(_) => (StatusCode::FORBIDDEN, "result_not_read"),
            LogIngestError::Store(error) => return error.into(),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<FindRunError> for ApiError {
    fn from(error: FindRunError) -> Self {
        match error {
            FindRunError::NoRuns => Self::no_such_run("there are no runs yet"),
            FindRunError::NoSuchRun(text) => Self::no_such_run(format!("there is no run `{text}`")),
            FindRunError::Ambiguous { .. } => Self::bad_request(error.to_string()),
            FindRunError::Store(error) => error.into(),
        }
    }
}

impl From<RequestDenial> for ApiError {
    fn from(denial: RequestDenial) -> Self {
        let (status, code) = match &denial {
            RequestDenial::RunExists(_) => (StatusCode::CONFLICT, "run_exists"),
            RequestDenial::NoSuchRun(_) => (StatusCode::NOT_FOUND, "no_such_run"),
            RequestDenial::RunEnded(_) => (StatusCode::CONFLICT, "run_ended"),
            RequestDenial::RunNotEnded(_) => (StatusCode::CONFLICT, "run_not_ended"),
            RequestDenial::OwnerGone { .. } => (StatusCode::CONFLICT, "owner_gone"),
            RequestDenial::RunInterrupted(_) => (StatusCode::CONFLICT, "run_interrupted"),
            RequestDenial::RunNotInterrupted(_) => (StatusCode::CONFLICT, "run_not_interrupted"),
            RequestDenial::BadProgress(_) => (StatusCode::CONFLICT, "bad_progress"),
            RequestDenial::NoSuchWorker(_) => (StatusCode::NOT_FOUND, "no_such_worker"),
            RequestDenial::LockNotHeld { .. } => (StatusCode::CONFLICT, "lock_not_held"),
            RequestDenial::OwnWorker(_) => (StatusCode::CONFLICT, "own_worker"),
            RequestDenial::NoSuchToken(_) => (StatusCode::NOT_FOUND, "no_such_token"),
            RequestDenial::TokenExists { .. } => (StatusCode::CONFLICT, "token_exists"),
            RequestDenial::TooManyTokens(_) => (StatusCode::TOO_MANY_REQUESTS, "too_many_tokens"),
            RequestDenial::NoScope => (StatusCode::BAD_REQUEST, "bad_request"),
            RequestDenial::TooManyRuns(_) => (StatusCode::TOO_MANY_REQUESTS, "too_many_runs"),
            RequestDenial::TooManySteps { .. } | RequestDenial::TooManyBytes { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, "too_many_steps")
            }
            RequestDenial::TooMuchReused { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "bad_reuse"),
            RequestDenial::PlanTooLarge(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad_pipeline"),
            RequestDenial::TooManyLockUses { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, "too_many_locks")
            }
            RequestDenial::TooManyDemands { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, "too_many_demands")
            }
            RequestDenial::BadReuse(_) => (StatusCode::BAD_REQUEST, "bad_reuse"),
            RequestDenial::StaleGeneration { .. }
            | RequestDenial::BadTiming { .. }
            | RequestDenial::TooLongLeases { .. }
            | RequestDenial::StaleTerm { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "cannot_lead"),
        };
        Self::new(status, code, denial.to_string())
    }
}
