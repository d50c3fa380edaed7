//! PostgreSQL servers that lose committed data, or crash behind a pooler.

use std::path::Path;

use super::scene::WitnessScene;
use crate::postgres::pgbouncer::PgBouncer;
use crate::support::cuttable_connection::CuttableConnection;
use crate::support::postgres_server::PgServer;
use crate::support::waiting::until;

/// A server of a round's own, and the way to it.
pub(super) struct WitnessDatabase {
    server: PgServer,
    schema: String,
    way: DatabaseRoute,
    _folder: tempfile::TempDir,
}

/// The connection of the controller to the server, and the means of the fault.
enum DatabaseRoute {
    /// Its files are restored as they were when the round was prepared.
    Backup(CuttableConnection),
    /// It has a standby, which is stopped when the round was prepared.
    Standby(CuttableConnection, Box<PgServer>),
    Pooler {
        url: String,
        _pooler: PgBouncer,
    },
}

impl WitnessDatabase {
    pub(super) fn with_backup() -> Self {
        Self::with(|server, folder| DatabaseRoute::Backup(cable(server, folder)))
    }

    pub(super) fn with_standby() -> Self {
        Self::with(|server, folder| {
            DatabaseRoute::Standby(cable(server, folder), Box::new(server.standby()))
        })
    }

    pub(super) fn behind_pooler() -> Self {
        Self::with(|server, _| {
            let pooler = PgBouncer::before(server, 10);
            let (url, _) = pooler.fresh_on(server);
            DatabaseRoute::Pooler { url, _pooler: pooler }
        })
    }

    fn with(way: impl FnOnce(&PgServer, &Path) -> DatabaseRoute) -> Self {
        let server = PgServer::start();
        let (_, schema) = server.fresh();
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let way = way(&server, folder.path());
        Self { server, schema, way, _folder: folder }
    }

    pub(super) fn url(&self) -> String {
        let cable = match &self.way {
            DatabaseRoute::Pooler { url, .. } => return url.clone(),
            DatabaseRoute::Backup(cable) | DatabaseRoute::Standby(cable, _) => cable,
        };
        let (host, schema) = (cable.folder.display().to_string().replace('/', "%2F"), &self.schema);
        format!("postgres://windlass@{host}/postgres?options=-csearch_path%3D{schema}")
    }

    /// Data that is committed from now on will be lost.
    pub(super) fn prepare(&self) {
        match &self.way {
            DatabaseRoute::Backup(_) => {
                self.server.stop();
                self.server.back_up();
                self.server.start_again();
            }
            DatabaseRoute::Standby(_, standby) => {
                let head = format!("SELECT max(position) FROM {}.windlass_journal", self.schema);
                until("the standby has what was committed", || {
                    standby.psql(&head) == self.server.psql(&head)
                });
                standby.stop();
            }
            DatabaseRoute::Pooler { .. } => {}
        }
    }

    /// The server has crashed, and its replacement lacks the data committed since the preparation.
    fn lose_history(&self) {
        self.server.stop();
        match &self.way {
            DatabaseRoute::Backup(_) => {
                self.server.restore();
                self.server.start_again();
            }
            DatabaseRoute::Standby(cable, standby) => {
                standby.start_again();
                standby.promote();
                cable.lead_to(&standby.socket());
            }
            DatabaseRoute::Pooler { .. } => panic!("a crash alone loses nothing"),
        }
    }

    pub(super) fn stop(&self) {
        self.server.stop();
    }

    fn start_again(&self) {
        self.server.start_again();
    }
}

fn cable(server: &PgServer, folder: &Path) -> CuttableConnection {
    CuttableConnection::new(folder.join("cable"), &server.socket())
}

impl WitnessScene {
    /// The controller notices that known events are lost, ends, and is started again. The worker that holds the lock
    /// cannot reach it.
    pub(super) fn lose_database_history(&mut self) {
        self.stop_worker();
        self.site.database().lose_history();
        until("the controller that knew better ends", || self.cluster.controller.is_over());
        let said = self.cluster.controller.said();
        assert!(said.contains("the store has lost committed events"), "{said}");
        self.cluster.restart();
        self.until_led();
    }

    pub(super) fn restart_database(&mut self) {
        self.site.database().start_again();
        if self.cluster.controller.is_over() {
            self.cluster.restart();
        }
        self.until_led();
    }
}
