//! A folder with tables in it.

use std::path::Path;
use std::sync::Arc;

use super::file::File;
use super::writer::{Request, Writer};
use crate::store::sqlite::desk::Desk;
use crate::store::{Promise, StoreError};
use crate::tables::{Diff, Tables, Written};

/// Tables in a file of SQLite.
///
/// A call is on its way when it returns. Dropping the tables waits for what is on its way.
#[derive(Debug)]
pub struct SqliteTables {
    desk: Desk<Request>,
}

impl SqliteTables {
    /// The tables in a folder. The file is made when it is first written: one that somebody else leads by is left alone
    /// until then. Whoever writes first replaces a file that is damaged or of a newer version.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let file = File::new(folder.as_ref());
        let place = file.place().to_owned();
        let writer = Writer::new(file);
        Ok(Self { desk: Desk::start("tables-writer", &place, |requests| writer.run(requests))? })
    }
}

impl Tables for SqliteTables {
    fn write(&self, diff: Arc<Diff>) -> Promise<'_, Written> {
        self.desk.ask(|answer| Request { diff, answer })
    }
}
