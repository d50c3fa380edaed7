//! Which part a process has.

use super::rendezvous::{CiVariables, InstanceRendezvous};

/// The most instances of a run: four times what a matrix of a CI service may have.
pub const INSTANCES_MAX: i64 = 1_024;

/// What a process was told about its part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstanceOptions<'a> {
    /// Which one it is, from 0.
    pub instance: Option<i64>,
    /// How many there are.
    pub total: Option<i64>,
    /// Where they meet.
    pub link: Option<&'a str>,
    /// Under which name they meet there.
    pub run_id: Option<&'a str>,
    /// What names the run if nobody did.
    pub ci: CiVariables<'a>,
}

/// The part of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedRunRole {
    /// Nobody else has a part: everything is as if nothing had been said.
    Standalone,
    /// It is the first of several that have no way to it: it does their work too.
    RunsAll {
        /// For how many, itself included.
        total: u32,
    },
    /// It leads, and works as well.
    Leader(InstanceGroup),
    /// It works for the one that leads.
    Worker {
        /// Which one it is, from 1.
        instance: u32,
        /// What it shares.
        shared: InstanceGroup,
    },
}

/// What all instances of a run have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceGroup {
    /// How many there are.
    pub total: u32,
    /// Where they meet.
    pub link: String,
    /// Under which name.
    pub rendezvous: InstanceRendezvous,
}

/// Why a process has no part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstanceRoleError {
    /// Which one it is was said, and not of how many.
    #[error("instance {0} of how many? say it with --total, or WINDLASS_TOTAL")]
    NoTotal(i64),
    /// How many there are was said, and not which one it is.
    #[error("which of {0} instances is this? say it with --instance, from 0, or WINDLASS_INSTANCE")]
    NoInstance(i64),
    /// Where they meet was said, and nothing else.
    #[error("a link joins several instances: say which one this is, with --instance and --total")]
    OnlyLink,
    /// There is no such instance.
    #[error("there is no instance {instance} of {total}: they count from 0 to {}", total - 1)]
    NotAmong {
        /// Which one.
        instance: i64,
        /// Of how many.
        total: i64,
    },
    /// There cannot be so many.
    #[error("a run has 1 to {INSTANCES_MAX} instances, not {0}")]
    BadTotal(i64),
    /// It would work for somebody whom it cannot reach.
    #[error(
        "instance {instance} of {total} has no way to instance 0: say where they meet, with --link"
    )]
    NoLink {
        /// Which one.
        instance: i64,
        /// Of how many.
        total: i64,
    },
    /// They have no name to meet under.
    #[error(
        "a link is shared by many runs: say which one this is with --run-id, the same in every instance"
    )]
    NoName,
    /// The name cannot be used.
    #[error(
        "a run id has 1 to 128 letters, digits, `.`, `_` or `-`, and does not begin with `.`: `{0}`"
    )]
    BadName(String),
}

impl SharedRunRole {
    /// The part that follows from what a process was told.
    ///
    /// ```
    /// use windlass_core::instance::{InstanceOptions, SharedRunRole};
    ///
    /// assert_eq!(SharedRunRole::of(InstanceOptions::default()), Ok(SharedRunRole::Standalone));
    /// let second =
    ///     InstanceOptions { instance: Some(1), total: Some(4), ..InstanceOptions::default() };
    /// assert!(SharedRunRole::of(second).is_err(), "it has no link to the first");
    /// ```
    pub fn of(told: InstanceOptions<'_>) -> Result<Self, InstanceRoleError> {
        let (instance, total) = match (told.instance, told.total) {
            (Some(instance), Some(total)) => (instance, total),
            (Some(instance), None) => return Err(InstanceRoleError::NoTotal(instance)),
            (None, Some(total)) => return Err(InstanceRoleError::NoInstance(total)),
            (None, None) if told.link.is_some() => return Err(InstanceRoleError::OnlyLink),
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
        let Some(link) = told.link else {
            return match number {
                0 => Ok(Self::RunsAll { total: of }),
                _ => Err(InstanceRoleError::NoLink { instance, total }),
            };
        };
        let meeting = InstanceRendezvous::resolve(told.run_id, told.ci)?;
        let shared = InstanceGroup { total: of, link: link.to_owned(), rendezvous: meeting };
        Ok(match number {
            0 => Self::Leader(shared),
            instance => Self::Worker { instance, shared },
        })
    }
}
