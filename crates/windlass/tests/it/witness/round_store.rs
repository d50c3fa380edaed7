//! Where the cluster of a round keeps its store, and how its workers reach it.

use std::path::PathBuf;

use windlass_store::conformance::TestDisk;

use super::databases::WitnessDatabase;
use super::faults::RoundFault;
use super::second_host;
use crate::support::project_folder::ProjectFolder;
use crate::support::redis_server::RedisServer;

/// The requirements of a fault.
pub(super) enum RoundStore {
    /// A store in a folder, and workers that join by HTTP: the default.
    Folder,
    StoreDisk(TestDisk),
    /// The state of the workers is on this disk.
    WorkerDisk(TestDisk),
    Database(Box<WitnessDatabase>),
    /// Workers join through it.
    Redis(RedisServer),
}

/// Space for a small store.
const DISK: &str = "24m";

impl RoundStore {
    /// Creates what this fault requires; prints the reason and returns `None` if that is not possible.
    pub(super) fn of(fault: RoundFault) -> Option<Self> {
        let disk = || TestDisk::mount(DISK);
        Some(match fault {
            RoundFault::SecondHost if !second_host::is_permitted() => return None,
            RoundFault::FullStoreDisk => Self::StoreDisk(disk()?),
            RoundFault::FullWorkerDisk => Self::WorkerDisk(disk()?),
            RoundFault::RestoreDatabase => Self::Database(Box::new(WitnessDatabase::with_backup())),
            RoundFault::PromoteStandby => Self::Database(Box::new(WitnessDatabase::with_standby())),
            RoundFault::CrashDatabase => Self::Database(Box::new(WitnessDatabase::behind_pooler())),
            RoundFault::FlushRedis => Self::Redis(RedisServer::start(&[])),
            RoundFault::HungStart
            | RoundFault::KillWorkerAndGuard
            | RoundFault::KillTether
            | RoundFault::StopWorker
            | RoundFault::StopWorkerAndGuard
            | RoundFault::StopLeader
            | RoundFault::SecondHost
            | RoundFault::RestoreStore
            | RoundFault::StopGuard
            | RoundFault::KillWorker
            | RoundFault::KillGuard
            | RoundFault::RestartLeader
            | RoundFault::RestoreJournal
            | RoundFault::ClockSetForward
            | RoundFault::ClockSetBack => Self::Folder,
        })
    }

    /// The flags of its controller.
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

    /// The address at which its workers join a controller with this port.
    pub(super) fn join(&self, port: u16) -> String {
        match self {
            Self::Redis(redis) => redis.url(),
            Self::Folder | Self::StoreDisk(_) | Self::WorkerDisk(_) | Self::Database(_) => {
                format!("http://127.0.0.1:{port}")
            }
        }
    }

    /// The state directory of a worker.
    pub(super) fn state(&self, project: &ProjectFolder, worker: &str) -> PathBuf {
        let base = if let Self::WorkerDisk(disk) = self { disk.path() } else { &project.path() };
        base.join("workers").join(worker)
    }

    pub(super) fn disk(&self) -> &TestDisk {
        let (Self::StoreDisk(disk) | Self::WorkerDisk(disk)) = self else {
            panic!("it has no disk of its own")
        };
        disk
    }

    pub(super) fn database(&self) -> &WitnessDatabase {
        let Self::Database(database) = self else { panic!("it has no database") };
        database
    }

    pub(super) fn flush_redis(&self) {
        let Self::Redis(redis) = self else { panic!("it has no Redis") };
        assert_eq!(redis.cli(&["FLUSHALL"]), "OK");
    }
}
