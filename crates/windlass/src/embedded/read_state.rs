//! Reads the newest state in a store, without leading the store.

use std::sync::Arc;

use windlass_controller::{ControllerNode, NodeConfig, NodeError, StandbyPolicy};
use windlass_core::engine::{Engine, EngineConfig};
use windlass_core::time::Span;
use windlass_net::clock::ProcessClock;
use windlass_store::journal::{Journal, LeaderCandidate, SqliteJournal};

use super::address::StoreAddress;
use super::stores::Stores;

/// An argument of stores that can be led; no term is requested here.
const TERM: Span = Span::secs(6);

/// Looks at the state that follows from the journal at an address; `None` if there is no journal.
pub async fn read_state<T>(
    address: &StoreAddress,
    read: impl FnOnce(&Engine) -> T,
) -> Result<Option<T>, NodeError> {
    let journal: Arc<dyn Journal> = match address.folder() {
        Some(folder) if !SqliteJournal::exists(folder) => return Ok(None),
        Some(folder) => Arc::new(SqliteJournal::read(folder)?),
        None => Stores::at(address, TERM).await?.journal,
    };
    let config = NodeConfig {
        candidate: LeaderCandidate { node: String::new(), address: None },
        engine: EngineConfig::default(),
        ttl: Span::secs(15),
        own: None,
        stand_by: StandbyPolicy::Refuse,
        clock: ProcessClock::runtime(),
        leader_socket: None,
    };
    // A node that is not run makes no decisions.
    let (_node, handle) = ControllerNode::open(journal, config).await?;
    Ok(Some(handle.views().with(|view| read(&view.engine))))
}
