//! The secrets by which workers and clients prove their identity.

mod token;
mod worker_secret;

pub use token::TokenSecret;
pub use worker_secret::{
    WorkerSecret, WorkerSecretError, random_bytes, verify_signature, worker_id_of,
};
