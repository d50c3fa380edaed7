//! Several controllers on one PostgreSQL, as real processes: one leads, the others take over.

mod database_outages;
mod faults;
mod flapping;
mod former_workers;
mod leading;
mod lease_expiry;
mod objects;
mod read_only_replica;
mod restored;
mod shutdown;
mod store_sharing;
mod tokens_and_tls;
