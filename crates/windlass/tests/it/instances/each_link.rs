//! The links over which a test is repeated.

use std::any::Any;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::support::instance_processes::InstanceProcesses;
use crate::support::postgres_server::server;
use crate::support::program::WINDLASS;
use crate::support::project_folder::{ProjectFolder, example};
use crate::support::redis_server::RedisServer;

/// A link for one test, which ends with it.
pub(super) struct InstanceLink {
    program: PathBuf,
    url: String,
    _held: Box<dyn Any>,
}

impl InstanceLink {
    pub(super) fn redis() -> Self {
        let redis = RedisServer::start(&[]);
        Self::of_windlass(redis.url(), redis)
    }

    pub(super) fn postgres() -> Self {
        Self::of_windlass(server().fresh().0, ())
    }

    /// That of the example, and its program.
    pub(super) fn folder() -> Self {
        let folder = TempDir::new().expect("a folder");
        let url = format!("dir:{}", folder.path().display());
        Self { program: example("dir-link"), url, _held: Box::new(folder) }
    }

    fn of_windlass(url: String, held: impl Any) -> Self {
        let program = WINDLASS.into();
        Self { program, url, _held: Box::new(held) }
    }

    /// Instances that use this link.
    pub(super) fn fleet(&self, pipeline: &str) -> InstanceProcesses {
        InstanceProcesses::of(self.program.clone(), &self.url, ProjectFolder::with(pipeline))
    }
}

/// Runs the test over each link.
macro_rules! over_each_link {
    ($($story:ident),+ $(,)?) => {
        mod over_redis {
            $(#[test]
            fn $story() {
                super::$story(&super::InstanceLink::redis());
            })+
        }

        mod over_postgres {
            $(#[test]
            fn $story() {
                super::$story(&super::InstanceLink::postgres());
            })+
        }

        mod over_the_folder_of_the_example {
            $(#[test]
            fn $story() {
                super::$story(&super::InstanceLink::folder());
            })+
        }
    };
}

pub(super) use over_each_link;
