//! The role of a process in a shared run.

use super::rendezvous::{CiVariables, InstanceRendezvous};

/// The largest number of instances: four times the largest matrix of a CI service.
pub const INSTANCES_MAX: i64 = 1_024;

/// The settings that decide the role of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstanceOptions<'a> {
    /// The number of the instance, from 0.
    pub instance: Option<i64>,
    /// The number of instances.
    pub total: Option<i64>,
    /// The link at which the instances meet.
    pub link: Option<&'a str>,
    /// The name under which the instances meet.
    pub run_id: Option<&'a str>,
    /// Variables of the CI service, from which the name is derived otherwise.
    pub ci: CiVariables<'a>,
}

/// The role of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedRunRole {
    /// The process runs alone.
    Standalone,
    /// The process is the first of several instances without a link: it does the work of all of them.
    RunsAll {
        /// The number of instances, this one included.
        total: u32,
    },
    /// The process leads, and works too.
    Leader(InstanceGroup),
    /// The process works for the leader.
    Worker {
        /// The number of the instance, from 1.
        instance: u32,
        /// The settings that all instances share.
        shared: InstanceGroup,
    },
}

/// The settings that all instances of a run share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceGroup {
    /// The number of instances.
    pub total: u32,
    /// The link at which they meet.
    pub link: String,
    /// The name under which they meet.
    pub rendezvous: InstanceRendezvous,
}

/// The reason for which a process has no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstanceRoleError {
    /// The number of the instance is set, and the number of instances is not.
    #[error("instance {0} of how many? say it with --total, or WINDLASS_TOTAL")]
    NoTotal(i64),
    /// The number of instances is set, and the number of this instance is not.
    #[error("which of {0} instances is this? say it with --instance, from 0, or WINDLASS_INSTANCE")]
    NoInstance(i64),
    /// The link is set, and nothing else.
    #[error("a link joins several instances: say which one this is, with --instance and --total")]
    OnlyLink,
    /// The number of the instance is too large.
    #[error("there is no instance {instance} of {total}: they count from 0 to {}", total - 1)]
    NotAmong {
        /// The number of the instance.
        instance: i64,
        /// The number of instances.
        total: i64,
    },
    /// The number of instances is out of range.
    #[error("a run has 1 to {INSTANCES_MAX} instances, not {0}")]
    BadTotal(i64),
    /// The instance would work for a leader that it cannot reach.
    #[error(
        "instance {instance} of {total} has no way to instance 0: say where they meet, with --link"
    )]
    NoLink {
        /// The number of the instance.
        instance: i64,
        /// The number of instances.
        total: i64,
    },
    /// The instances have no name to meet under.
    #[error(
        "a link is shared by many runs: say which one this is with --run-id, the same in every instance"
    )]
    NoName,
    /// The name is not allowed.
    #[error(
        "a run id has 1 to 128 letters, digits, `.`, `_` or `-`, and does not begin with `.`: `{0}`"
    )]
    BadName(String),
}

impl SharedRunRole {
    /// Returns the role that follows from these settings.
    ///
    /// ```
    /// use windlass_core::instance::{InstanceOptions, SharedRunRole};
    ///
    /// assert_eq!(SharedRunRole::of(InstanceOptions::default()), Ok(SharedRunRole::Standalone));
    /// let second =
    ///     InstanceOptions { instance: Some(1), total: Some(4), ..InstanceOptions::default() };
    /// assert!(SharedRunRole::of(second).is_err(), "it has no link to the first");
    /// ```
    pub fn of(options: InstanceOptions<'_>) -> Result<Self, InstanceRoleError> {
        let (instance, total) = match (options.instance, options.total) {
            (Some(instance), Some(total)) => (instance, total),
            (Some(instance), None) => return Err(InstanceRoleError::NoTotal(instance)),
            (None, Some(total)) => return Err(InstanceRoleError::NoInstance(total)),
            (None, None) if options.link.is_some() => return Err(InstanceRoleError::OnlyLink),
            (None, None) => return Ok(Self::Standalone),
        };
        if !(1..=INSTANCES_MAX).contains(&total) {
            return Err(InstanceRoleError::BadTotal(total));
        }
        let among = u32::try_from(instance).ok().filter(|_| instance < total);
        let number = among.ok_or(InstanceRoleError::NotAmong { instance, total })?;
        let of = u32::try_from(total).expect("it is within the bounds");
        if of == 1 {
            return Ok(Self::Standalone);
        }
        let Some(link) = options.link else {
            return match number {
                0 => Ok(Self::RunsAll { total: of }),
                _ => Err(InstanceRoleError::NoLink { instance, total }),
            };
        };
        let meeting = InstanceRendezvous::resolve(options.run_id, options.ci)?;
        let shared = InstanceGroup { total: of, link: link.to_owned(), rendezvous: meeting };
        Ok(match number {
            0 => Self::Leader(shared),
            instance => Self::Worker { instance, shared },
        })
    }
}
