//! A cluster whose workers leave letters in a Redis, and the Redis.

mod figures;
mod queues;
mod server;

pub(crate) use figures::rows;
pub(crate) use server::Redis;
