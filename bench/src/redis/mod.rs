//! A cluster whose workers leave letters in a Redis, and the Redis.

mod queues;
mod rows;
mod server;

pub(crate) use rows::rows;
pub(crate) use server::BenchRedis;
