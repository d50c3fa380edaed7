//! Open SQL views in a folder.

use std::path::Path;
use std::sync::Arc;

use super::views_file::SqlViewsFile;
use super::writer::{SqliteViewsWriteRequest, SqliteViewsWriter};
use crate::db::sqlite::request_thread::RequestThread;
use crate::db::{StoreError, StoreFuture};
use crate::sql_views::{SqlViews, SqlViewsDiff, SqlViewsOutcome};

/// Tables in a SQLite file.
///
/// A call is sent when it returns. Dropping the tables waits for calls in progress.
#[derive(Debug)]
pub struct SqliteSqlViews {
    thread: RequestThread<SqliteViewsWriteRequest>,
}

impl SqliteSqlViews {
    /// Opens the tables in a folder. The file is created by the first write, so that the file of another leader stays until
    /// then. The first write replaces a file that is damaged or has a newer version or another format.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let file = SqlViewsFile::new(folder.as_ref());
        let place = file.place().to_owned();
        let writer = SqliteViewsWriter::new(file);
        Ok(Self {
            thread: RequestThread::start("tables-writer", &place, |requests| writer.run(requests))?,
        })
    }
}

impl SqlViews for SqliteSqlViews {
    fn write(&self, diff: Arc<SqlViewsDiff>) -> StoreFuture<'_, SqlViewsOutcome> {
        self.thread.call(|answer| SqliteViewsWriteRequest { diff, answer })
    }
}
