//! Where the cluster of a round keeps its store, and how its workers reach it.

use std::path::PathBuf;

use windlass::conformance::Disk;

use super::databases::Database;
use super::faults::Fault;
use super::second_host;
use crate::links::redis_server::Redis;
use crate::run::arrange::Place;

/// What a fault needs.
pub(super) enum Site {
    /// A store in a folder, and workers that join by HTTP, as in all but these.
    Folder,
    StoreDisk(Disk),
    /// The workers' state is on it.
    WorkerDisk(Disk),
    Database(Box<Database>),
    /// Workers join through it.
    Redis(Redis),
}

/// Room for a small store.
const DISK: &str = "24m";

impl Site {
    /// What this fault needs; nothing, with a printed reason, where that cannot be had.
    pub(super) fn of(fault: Fault) -> Option<Self> {
        let disk = || Disk::mount(DISK);
        Some(match fault {
            Fault::SecondHost if !second_host::is_permitted() => return None,
            Fault::FullStoreDisk => Self::StoreDisk(disk()?),
            Fault::FullWorkerDisk => Self::WorkerDisk(disk()?),
            Fault::RestoreDatabase => Self::Database(Box::new(Database::with_backup())),
            Fault::PromoteStandby => Self::Database(Box::new(Database::with_standby())),
            Fault::CrashDatabase => Self::Database(Box::new(Database::behind_pooler())),
            Fault::FlushRedis => Self::Redis(Redis::start(&[])),
            Fault::HungStart
            | Fault::KillWorkerAndGuard
            | Fault::KillTether
            | Fault::StopWorker
            | Fault::StopWorkerAndGuard
            | Fault::StopLeader
            | Fault::SecondHost
            | Fault::RestoreStore
            | Fault::StopGuard
            | Fault::KillWorker
            | Fault::KillGuard
            | Fault::RestartLeader
            | Fault::RestoreJournal
            | Fault::ClockSetForward
            | Fault::ClockSetBack => Self::Folder,
        })
    }

    /// What its controller is told.
    pub(super) fn flags(&self) -> String {
        let flags = "--no-exec --lease-ttl 3s --state controller";
        match self {
            Self::Folder | Self::WorkerDisk(_) => format!("{flags} --store store"),
            Self::StoreDisk(disk) => format!("{flags} --store {}/store", disk.path().display()),
            Self::Database(database) => {
                format!("{flags} --store {} --term 2s --name leader", database.url())
            }
            Self::Redis(redis) => format!("{flags} --store store --link {}", redis.url()),
        }
    }

    /// Where its workers join a controller at this port.
    pub(super) fn join(&self, port: u16) -> String {
        match self {
            Self::Redis(redis) => redis.url(),
            Self::Folder | Self::StoreDisk(_) | Self::WorkerDisk(_) | Self::Database(_) => {
                format!("http://127.0.0.1:{port}")
            }
        }
    }

    /// Where a worker keeps its state.
    pub(super) fn state(&self, place: &Place, worker: &str) -> PathBuf {
        let base = if let Self::WorkerDisk(disk) = self { disk.path() } else { &place.path() };
        base.join("workers").join(worker)
    }

    pub(super) fn disk(&self) -> &Disk {
        let (Self::StoreDisk(disk) | Self::WorkerDisk(disk)) = self else {
            panic!("it has no disk of its own")
        };
        disk
    }

    pub(super) fn database(&self) -> &Database {
        let Self::Database(database) = self else { panic!("it has no database") };
        database
    }

    pub(super) fn flush_redis(&self) {
        let Self::Redis(redis) = self else { panic!("it has no Redis") };
        assert_eq!(redis.cli(&["FLUSHALL"]), "OK");
    }
}
