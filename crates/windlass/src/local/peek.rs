//! A look at what a store's leader knew last, without leading it.

use std::sync::Arc;

use windlass_core::engine::{Config, Engine};
use windlass_core::time::Span;

use super::address::StoreAddress;
use super::stores::Stores;
use crate::clock::Clock;
use crate::controller::{Node, NodeConfig, NodeError, StandBy};
use crate::journal::{Candidate, Journal, SqliteJournal};

/// No term is asked for, however long it would last.
const TERM: Span = Span::secs(6);

/// Looks at the state that follows from the journal at an address. Nothing is decided; `None` if there is no journal.
pub async fn peek<T>(
    address: &StoreAddress,
    look: impl FnOnce(&Engine) -> T,
) -> Result<Option<T>, NodeError> {
    let journal: Arc<dyn Journal> = match address.folder() {
        Some(folder) if !SqliteJournal::exists(folder) => return Ok(None),
        Some(folder) => Arc::new(SqliteJournal::read(folder)?),
        None => Stores::at(address, TERM).await?.journal,
    };
    let config = NodeConfig {
        candidate: Candidate { node: String::new(), address: None },
        engine: Config::default(),
        ttl: Span::secs(15),
        own: None,
        stand_by: StandBy::Refuse,
        clock: Clock::of_runtime(),
    };
    // A node that is not run decides nothing.
    let (_node, handle) = Node::open(journal, config).await?;
    Ok(Some(handle.views().look(|view| look(&view.engine))))
}
