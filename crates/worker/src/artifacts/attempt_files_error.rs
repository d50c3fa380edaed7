//! Why an attempt has no files.

/// Why an attempt does not get its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptFilesError {
    /// It was ordered to stop.
    Stopped,
    /// Another attempt would not get them either: the step fails.
    Refused(String),
    /// This worker cannot get them now: its disk is full, or the store is out of reach. The delivery is lost, not the attempt.
    Unavailable(String),
}
