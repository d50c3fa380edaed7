//! A look at what a store's leader knew last, without leading it.

use std::path::Path;
use std::sync::Arc;

use windlass_core::engine::{Config, Engine};
use windlass_core::time::Span;

use crate::controller::{Node, NodeConfig, NodeError, StandBy};
use crate::journal::{Candidate, SqliteJournal};

/// Looks at the state that follows from the journal in a folder. Nothing is written; `None` if there is no journal.
pub async fn peek<T>(
    folder: &Path,
    look: impl FnOnce(&Engine) -> T,
) -> Result<Option<T>, NodeError> {
    if !SqliteJournal::exists(folder) {
        return Ok(None);
    }
    let journal = Arc::new(SqliteJournal::read(folder)?);
    let config = NodeConfig {
        candidate: Candidate { node: String::new(), address: None },
        engine: Config::default(),
        ttl: Span::secs(15),
        own: None,
        stand_by: StandBy::Refuse,
    };
    // A node that is not run decides nothing.
    let (_node, handle) = Node::open(journal, config).await?;
    Ok(Some(handle.views().look(|view| look(&view.engine))))
}
