//! The large results of one worker: where it stores them, and where it fetches them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_core::large_value::{LargeValueLocation, LargeValueRef};
use windlass_link::LinkError;
use windlass_link::output::{LogChunk, LogChunksReply, OutputLink};
use windlass_store::logs::{LogId, LogPart, VALUE_MAX};

use super::in_memory_values::{InMemoryValue, InMemoryValues};
use super::value_cache::ValueCache;

/// The bytes of the first piece. The leader's answer says how many it takes next.
const FIRST_CREDIT: usize = 256 << 10;

/// How long a leader may be away before a step fails that stores or fetches a result. It is longer than a takeover or a
/// restart.
const PATIENCE: Duration = Duration::from_mins(1);

/// The pause after a piece that did not arrive.
const PAUSE: Duration = Duration::from_millis(200);

/// The large results of one worker.
#[derive(Debug)]
pub struct ValueStore {
    link: Arc<dyn OutputLink>,
    cache: Mutex<ValueCache>,
    memory: Mutex<InMemoryValues>,
}

impl ValueStore {
    /// Creates a store that keeps results with a leader.
    pub fn new(link: Arc<dyn OutputLink>) -> Self {
        Self { link, cache: Mutex::default(), memory: Mutex::default() }
    }

    /// Stores a result, and returns when the leader has it.
    pub async fn keep(&self, made_by: LogId, text: String) -> Result<LargeValueRef, String> {
        let hash = *blake3::hash(text.as_bytes()).as_bytes();
        let size = text.len() as u64;
        if size > VALUE_MAX {
            return Err(format!("it has {size} bytes, and the limit is {VALUE_MAX}"));
        }
        self.upload(made_by.value(), text.as_bytes())
            .await
            .map_err(|why| format!("it could not be sent to the leader: {why}"))?;
        self.cache().put(hash, text.into());
        Ok(kept(made_by, LargeValueLocation::Leader { hash, size }))
    }

    async fn upload(&self, value: LogId, bytes: &[u8]) -> Result<(), String> {
        let (mut at, mut credit, mut progress) = (0, FIRST_CREDIT, Instant::now());
        while at < bytes.len() {
            let piece = bytes[at..bytes.len().min(at + credit)].to_vec();
            let piece = LogChunk { log: value, at: at as u64, bytes: piece };
            match self.link.ship(vec![piece]).await {
                Ok(LogChunksReply { sizes, credit: next }) => {
                    let size = sizes.first().copied().flatten();
                    let size =
                        size.ok_or("the leader accepts nothing from this attempt any more")?;
                    let size = usize::try_from(size).unwrap_or(usize::MAX);
                    if size > at {
                        progress = Instant::now();
                    }
                    // A restored leader may have less than it acknowledged.
                    (at, credit) = (size, next.max(1));
                }
                Err(error) if error.is_final() => return Err(error.to_string()),
                Err(error) => pause(progress, &error).await?,
            }
            if progress.elapsed() > PATIENCE {
                return Err("the leader accepts too few bytes at a time".to_owned());
            }
        }
        Ok(())
    }

    /// Fetches a result from the leader, and checks it.
    pub async fn fetch(&self, kept: &LargeValueRef) -> Result<Arc<str>, String> {
        let LargeValueLocation::Leader { hash, size } = &kept.location else {
            return Err(format!("it is {kept}"));
        };
        if let Some(text) = self.cache().get(hash) {
            return Ok(text);
        }
        let bytes = self.bytes(made_by(kept).value(), *size).await?;
        if *blake3::hash(&bytes).as_bytes() != *hash {
            return Err("the stored bytes differ from the original".to_owned());
        }
        let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
        let text: Arc<str> = text.into();
        self.cache().put(*hash, Arc::clone(&text));
        Ok(text)
    }

    async fn bytes(&self, value: LogId, size: u64) -> Result<Vec<u8>, String> {
        if size > VALUE_MAX {
            return Err(format!("it has {size} bytes, and the limit is {VALUE_MAX}"));
        }
        let (mut bytes, mut progress) = (Vec::new(), Instant::now());
        while (bytes.len() as u64) < size {
            match self.link.fetch(value, bytes.len() as u64).await {
                Ok(LogPart { bytes: part, .. }) if part.is_empty() => return Err(gone(value)),
                Ok(LogPart { bytes: part, .. }) => {
                    bytes.extend(part);
                    progress = Instant::now();
                }
                Err(error) if error.is_final() => return Err(error.to_string()),
                Err(error) => pause(progress, &error).await?,
            }
        }
        Ok(bytes)
    }

    /// Keeps a result in the memory of this process.
    pub fn keep_in_memory(
        &self,
        made_by: LogId,
        worker: &str,
        value: InMemoryValue,
    ) -> LargeValueRef {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).put(made_by, value);
        kept(made_by, LargeValueLocation::Worker { name: worker.into() })
    }

    /// Returns a result that is in the memory of this process.
    pub fn kept_in_memory(&self, kept: &LargeValueRef) -> Option<InMemoryValue> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).get(made_by(kept))
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, ValueCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits before the next try, if there is to be one.
async fn pause(progress: Instant, error: &LinkError) -> Result<(), String> {
    if progress.elapsed() > PATIENCE {
        return Err(error.to_string());
    }
    sleep(PAUSE).await;
    Ok(())
}

fn gone(value: LogId) -> String {
    format!("it was removed with the logs of run {}: `rerun` makes it again", value.run)
}

fn kept(made_by: LogId, location: LargeValueLocation) -> LargeValueRef {
    let LogId { run, step, attempt, delivery, stream: _ } = made_by;
    LargeValueRef { run, step, attempt, delivery, location }
}

const fn made_by(kept: &LargeValueRef) -> LogId {
    LogId::new(kept.run, kept.step, kept.attempt, kept.delivery)
}
