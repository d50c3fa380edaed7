//! A cluster whose workers exchange messages through Redis, and the Redis server.

mod queues;
mod rows;
mod server;

pub(crate) use rows::rows;
pub(crate) use server::BenchRedis;
