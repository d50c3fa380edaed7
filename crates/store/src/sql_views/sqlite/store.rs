//! A folder with tables in it.

use std::path::Path;
use std::sync::Arc;

use super::views_file::SqlViewsFile;
use super::writer::{SqliteViewsWriteRequest, SqliteViewsWriter};
use crate::db::sqlite::request_thread::RequestThread;
use crate::db::{StoreError, StoreFuture};
use crate::sql_views::{SqlViews, SqlViewsDiff, SqlViewsOutcome};

/// Tables in a file of SQLite.
///
/// A call is on its way when it returns. Dropping the tables waits for what is on its way.
#[derive(Debug)]
pub struct SqliteSqlViews {
    desk: RequestThread<SqliteViewsWriteRequest>,
}

impl SqliteSqlViews {
    /// The tables in a folder. The file is made when it is first written: one that somebody else leads by is left alone
    /// until then. Whoever writes first replaces a file that is damaged or of a newer version.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let file = SqlViewsFile::new(folder.as_ref());
        let place = file.place().to_owned();
        let writer = SqliteViewsWriter::new(file);
        Ok(Self {
            desk: RequestThread::start("tables-writer", &place, |requests| writer.run(requests))?,
        })
    }
}

impl SqlViews for SqliteSqlViews {
    fn write(&self, diff: Arc<SqlViewsDiff>) -> StoreFuture<'_, SqlViewsOutcome> {
        self.desk.call(|answer| SqliteViewsWriteRequest { diff, answer })
    }
}
