//! A custom link: messages are files in a folder that all machines share.
//!
//! ```sh
//! cargo build --example dir-link
//! dir-link serve --link dir:/mnt/shared/post &
//! dir-link worker --join dir:/mnt/shared/post
//! ```
//!
//! A file is written under a temporary name and then renamed, so that a reader finds it whole or not at all. The leader's
//! lease is in one file, which is read and written under a lock. `docs/guides/links.md` walks through the code.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};
use windlass::embedded::system_now;
use windlass::link::mailbox::{
    BindingEpoch, MAILBOX_MESSAGE_MAX, MAILBOX_MESSAGES_MAX, MailboxAddress, MailboxBinding,
    MailboxError, MailboxFuture, MailboxId, MailboxMessage, Mailboxes, RECEIVED_MAX,
};

/// How often a receiver checks its mailbox.
const LOOKS_EVERY: Duration = Duration::from_millis(10);

fn main() -> ExitCode {
    windlass::Cli::new().link("dir", open).main()
}

/// The mailboxes of a site at `dir:/FOLDER`, with a folder for each run.
pub(crate) fn open(site: &MailboxAddress) -> Result<Arc<dyn Mailboxes>, MailboxError> {
    let folder = Path::new(site.url.trim_start_matches("dir:").trim_start_matches("//"));
    if !folder.is_absolute() {
        let (place, reason) = (site.url.clone(), "it looks like dir:/FOLDER".to_owned());
        return Err(MailboxError::Refused { place, reason });
    }
    Ok(Arc::new(FolderMailboxes(folder.join(&site.run))))
}

#[derive(Clone, Debug)]
struct FolderMailboxes(PathBuf);

/// The content of the leader file.
#[derive(Default, Serialize, Deserialize)]
struct LeaderFile {
    epoch: u64,
    by: Option<String>,
    /// The end of the leader's lease, in milliseconds since 1970.
    until: u64,
    epitaph: Option<String>,
}

impl LeaderFile {
    fn bound(&self) -> Option<String> {
        self.by.clone().filter(|_| system_now().as_millis() < self.until)
    }

    fn hold(&mut self, term: Duration) {
        self.until = system_now().as_millis() + u64::try_from(term.as_millis()).unwrap_or(0);
    }

    fn bind(&mut self, by: String, term: Duration) -> Result<BindingEpoch, MailboxError> {
        if let Some(epitaph) = self.epitaph.clone() {
            return Err(MailboxError::Finished { final_status: epitaph });
        }
        if let Some(by) = self.bound() {
            return Err(MailboxError::AlreadyLed { by });
        }
        (self.epoch, self.by) = (self.epoch + 1, Some(by));
        self.hold(term);
        Ok(BindingEpoch(self.epoch))
    }

    fn keep(
        &mut self,
        epoch: BindingEpoch,
        term: Duration,
        place: String,
    ) -> Result<(), MailboxError> {
        if self.epoch < epoch.0 {
            let reason = "its files were removed".to_owned();
            return Err(MailboxError::StateLost { place, reason });
        }
        if self.epoch > epoch.0 || self.by.is_none() {
            return Err(MailboxError::Deposed { now: BindingEpoch(self.epoch) });
        }
        self.hold(term);
        Ok(())
    }

    fn unbind(&mut self, epoch: BindingEpoch, epitaph: Option<String>) {
        if self.epoch == epoch.0 {
            (self.by, self.epitaph) = (None, epitaph);
        }
    }
}

impl FolderMailboxes {
    /// Runs a function that waits for the disk on a thread that other tasks do not need.
    fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> io::Result<Result<T, MailboxError>> + Send + 'static,
    ) -> MailboxFuture<'_, T> {
        let folder = self.clone();
        Box::pin(async move {
            let done = spawn_blocking(move || work(&folder)).await.map_err(io::Error::other);
            done.flatten().unwrap_or_else(|error| {
                Err(MailboxError::Unreachable { place: self.place(), reason: error.to_string() })
            })
        })
    }

    /// Reads and changes the leader file under a lock, which ends when the file is closed.
    fn leader<T>(&self, change: impl FnOnce(&mut LeaderFile) -> T) -> io::Result<T> {
        fs::create_dir_all(&self.0)?;
        let lock = File::create(self.0.join("lock"))?;
        lock.lock()?;
        let file = self.0.join("leader");
        let mut leader = match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(_) => LeaderFile::default(),
        };
        let done = change(&mut leader);
        fs::write(self.0.join("leader.new"), serde_json::to_vec(&leader)?)?;
        fs::rename(self.0.join("leader.new"), file)?;
        Ok(done)
    }

    fn put(&self, letter: &MailboxMessage) -> io::Result<Result<(), MailboxError>> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (mailbox, bytes) = (self.mailbox(letter.to), letter.bytes.len());
        if bytes > MAILBOX_MESSAGE_MAX {
            return Ok(Err(MailboxError::TooLarge { bytes }));
        }
        fs::create_dir_all(&mailbox)?;
        if fs::read_dir(&mailbox)?.count() >= MAILBOX_MESSAGES_MAX {
            let reason = "one of its mailboxes has no reader".to_owned();
            return Ok(Err(MailboxError::Full { place: self.place(), reason }));
        }
        let (now, number) = (system_now().as_millis(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let name = format!("{now:016x}-{number:08x}-{}", process::id());
        fs::write(self.0.join(&name), &letter.bytes)?;
        fs::rename(self.0.join(&name), mailbox.join(name)).map(Ok)
    }

    fn take(&self, mailbox: MailboxId) -> io::Result<Vec<Vec<u8>>> {
        // A mailbox without messages does not exist yet.
        let Ok(entries) = fs::read_dir(self.mailbox(mailbox)) else { return Ok(Vec::new()) };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort_unstable();
        files.truncate(RECEIVED_MAX);
        let letters = files.iter().map(fs::read).collect::<io::Result<_>>()?;
        files.iter().try_for_each(fs::remove_file)?;
        Ok(letters)
    }

    fn mailbox(&self, mailbox: MailboxId) -> PathBuf {
        self.0.join(format!("box-{:x}", mailbox.0))
    }
}

impl Mailboxes for FolderMailboxes {
    fn place(&self) -> String {
        format!("the folder {}", self.0.display())
    }

    fn bind(&self, by: String, term: Duration) -> MailboxFuture<'_, BindingEpoch> {
        self.work(move |it| it.leader(|leader| leader.bind(by, term)))
    }

    fn renew(&self, epoch: BindingEpoch, term: Duration) -> MailboxFuture<'_, ()> {
        self.work(move |it| it.leader(|leader| leader.keep(epoch, term, it.place())))
    }

    fn unbind(&self, epoch: BindingEpoch, epitaph: Option<String>) -> MailboxFuture<'_, ()> {
        self.work(move |it| it.leader(|leader| leader.unbind(epoch, epitaph)).map(Ok))
    }

    fn binding(&self) -> MailboxFuture<'_, MailboxBinding> {
        let standing = |leader: &mut LeaderFile| MailboxBinding {
            epoch: BindingEpoch(leader.epoch),
            by: leader.bound(),
            final_status: leader.epitaph.clone(),
        };
        self.work(move |it| it.leader(standing).map(Ok))
    }

    fn send(&self, letters: Vec<MailboxMessage>) -> MailboxFuture<'_, ()> {
        self.work(move |it| {
            for letter in &letters {
                if let Err(refused) = it.put(letter)? {
                    return Ok(Err(refused));
                }
            }
            Ok(Ok(()))
        })
    }

    fn receive(&self, mailbox: MailboxId, within: Duration) -> MailboxFuture<'_, Vec<Vec<u8>>> {
        let late = Instant::now() + within;
        Box::pin(async move {
            loop {
                let letters = self.work(move |it| it.take(mailbox).map(Ok)).await?;
                if !letters.is_empty() || Instant::now() >= late {
                    return Ok(letters);
                }
                sleep(LOOKS_EVERY).await;
            }
        })
    }
}
