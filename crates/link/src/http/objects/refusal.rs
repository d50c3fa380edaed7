//! What the refusal of a controller means for a call on objects.

use windlass_core::object::ObjectId;
use windlass_net::http::{ControllerAddress, HttpCallError, ObjectProblem, ProblemDetails};
use windlass_store::db::StoreError;
use windlass_store::objects::ObjectError;

/// Why a request got no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ObjectCallFailure {
    /// It may succeed when it is repeated; with the address of the leader if the controller named one.
    Passing(String, Option<String>),
    /// This controller has no objects; another one of its cluster may have.
    NoObjects(ObjectError),
    /// A repeated request fails, too.
    Final(ObjectError),
}

impl ObjectCallFailure {
    /// The meaning of a failed request.
    pub(super) fn of(error: HttpCallError) -> Self {
        let text = error.to_string();
        match error {
            HttpCallError::Unreachable { .. } => Self::Passing(text, None),
            HttpCallError::NotLeader { leader, .. } => Self::Passing(text, leader),
            HttpCallError::Refused(problem) => Self::of_refusal(&problem),
        }
    }

    fn of_refusal(problem: &ProblemDetails) -> Self {
        match (problem.status, problem.code.as_str()) {
            // A controller that is busy, slow, or got other bytes than were sent.
            (408 | 429 | 502 | 504, _) | (_, "damaged_piece") => {
                Self::Passing(problem.detail.clone(), None)
            }
            (_, "no_objects") => Self::NoObjects(refused(problem)),
            _ => Self::Final(refused(problem)),
        }
    }
}

/// The error of the store behind a refusal. Its place is filled in by [`at`].
fn refused(problem: &ProblemDetails) -> ObjectError {
    about_object(problem).unwrap_or_else(|| {
        let (place, reason) = (String::new(), problem.detail.clone());
        match problem.code.as_str() {
            "object_limit" | "too_large" => ObjectError::Limit(reason),
            "store_failed" => StoreError::Unavailable { place, reason }.into(),
            _ => StoreError::Unusable { place, reason }.into(),
        }
    })
}

/// The error about one object, if the refusal is complete.
fn about_object(problem: &ProblemDetails) -> Option<ObjectError> {
    let ObjectProblem { id, found, at, size, reason } = problem.object.as_deref()?;
    let (id, place) = (ObjectId::parse(id)?, String::new());
    match problem.code.as_str() {
        "no_such_object" => Some(ObjectError::Missing { id, place }),
        "object_damaged" => Some(ObjectError::Corrupt { id, place, reason: reason.clone()? }),
        "object_mismatch" => {
            Some(ObjectError::Mismatch { id, found: ObjectId::parse(found.as_deref()?)? })
        }
        // A range after the end of the object, too.
        "object_offset" | "no_such_range" => {
            Some(ObjectError::Offset { id, at: (*at)?, expected: (*size)? })
        }
        _ => None,
    }
}

/// The error, with the address of the controller as the place of the store.
pub(super) fn at(error: ObjectError, controller: &ControllerAddress) -> ObjectError {
    let place = controller.to_string();
    match error {
        ObjectError::Missing { id, .. } => ObjectError::Missing { id, place },
        ObjectError::Corrupt { id, reason, .. } => ObjectError::Corrupt { id, place, reason },
        ObjectError::Store(StoreError::Unavailable { reason, .. }) => {
            StoreError::Unavailable { place, reason }.into()
        }
        ObjectError::Store(StoreError::Unusable { reason, .. }) => {
            StoreError::Unusable { place, reason }.into()
        }
        other @ (ObjectError::Mismatch { .. }
        | ObjectError::Offset { .. }
        | ObjectError::Limit(_)
        | ObjectError::Store(_)) => other,
    }
}
