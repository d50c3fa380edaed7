//! A standby that follows a server of the tests by streaming, and can take its place.

use std::path::Path;

use crate::support::postgres_server::{PgServer, PgServerAccount};

impl PgServer {
    /// A streaming copy of the server. It is a server of its own from then on: a test may stop it, and start it again
    /// without the first.
    pub(crate) fn standby(&self) -> Self {
        let account = PgServerAccount::of_servers();
        Self::keep(self.port(), |folder: &Path| {
            account.give(folder);
            let mut backup = account.command("pg_basebackup");
            backup.args(["--checkpoint=fast", "--wal-method=stream", "--write-recovery-conf"]);
            backup.args(["--no-sync", "--username=windlass", "--port", &self.port().to_string()]);
            backup.arg("--host").arg(self.folder()).arg("--pgdata").arg(folder.join("data"));
            assert!(backup.status().is_ok_and(|status| status.success()), "pg_basebackup");
        })
    }

    /// Ends the replication, and accepts writes.
    pub(crate) fn promote(&self) {
        assert_eq!(self.psql("SELECT pg_promote()"), "t");
    }
}
