//! The thread that appends.

use std::io::{Seek, SeekFrom, Write};
use std::sync::mpsc::Receiver;

use super::open_files::OpenLogFiles;
use crate::db::StoreError;
use crate::db::sqlite::failure;
use crate::db::sqlite::request_thread::{ReplySender, reply};
use crate::logs::interface::new_bytes;
use crate::logs::{LogId, LogStream};

#[derive(Debug)]
pub(super) struct LogFileAppend {
    pub(super) log: LogId,
    pub(super) at: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) answer: ReplySender<u64>,
}

#[derive(Debug)]
pub(super) struct LogFileWriter {
    pub(super) place: String,
    pub(super) files: OpenLogFiles,
}

impl LogFileWriter {
    /// Serves requests until the queue is closed.
    #[expect(clippy::needless_pass_by_value, reason = "the thread owns its end of the channel")]
    pub(super) fn run(mut self, requests: Receiver<LogFileAppend>) {
        for LogFileAppend { log, at, bytes, answer } in &requests {
            reply(answer, self.append(log, at, &bytes));
        }
    }

    fn append(&mut self, log: LogId, at: u64, bytes: &[u8]) -> Result<u64, StoreError> {
        let failed = |error| failure::from_io(&self.place, &error);
        let begins = at == 0 && !bytes.is_empty();
        let Some((file, size)) = self.files.get(log, begins).map_err(failed)? else {
            return new_bytes(0, at, bytes).map(|_| 0);
        };
        let new = new_bytes(size, at, bytes)?;
        if new.is_empty() {
            return Ok(size);
        }
        let written = file.seek(SeekFrom::Start(size)).and_then(|_| file.write_all(new));
        let written = written
            .and_then(|()| if log.stream == LogStream::Value { file.sync_data() } else { Ok(()) });
        written.map_err(|error| {
            // A full disk may have taken a part: remove it, because the reply says that nothing was written.
            drop(file.set_len(size));
            failed(error)
        })?;
        Ok(size + new.len() as u64)
    }
}
