//! The flags of instances, and the role that follows from them.

use windlass_core::instance::{CiVariables, InstanceOptions, SharedRunRole};
use windlass_core::time::Span;

use super::instance_join::InstanceJoinOptions;
use super::instance_settings::{InstanceSettings, link_grace};
use super::leader_instance::LeaderInstanceOptions;
use crate::cli::commands::serve::lease;
use crate::cli::context::CommandContext;
use crate::cli::environment::set;
use crate::cli::error::CliError;
use crate::cli::local_run_args::read_duration;

/// Options of `windlass run` by which several processes share a run. Each can also be set by a variable such as
/// `WINDLASS_INSTANCE`.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "One run shared by several processes (docs/guides/ci.md)")]
pub(crate) struct InstanceArgs {
    /// Set the number of this instance, from 0; instance 0 leads
    #[arg(long, value_name = "I", allow_negative_numbers = true)]
    pub(super) instance: Option<i64>,
    /// Set the number of instances
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) total: Option<i64>,
    /// Exchange messages through this broker: `redis://HOST`, `postgres://HOST/DATABASE`, or a link that is compiled into
    /// the program
    #[arg(long, value_name = "URL")]
    pub(super) link: Option<String>,
    /// Name the run, the same in every instance (default in GitHub Actions and GitLab: from their run ids)
    #[arg(long, value_name = "NAME")]
    pub(super) run_id: Option<String>,
    /// Start instance 0 only after this many other instances have joined
    #[arg(long, value_name = "N")]
    pub(super) min_workers: Option<u32>,
    /// Continue without instance 0 for this long (default: 60s), and wait this long for an instance that has not
    /// started yet (default: 10m)
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    pub(super) leader_grace: Option<Span>,
    /// Continue without the link for this long; the binding of a killed instance 0 also lasts this long (default:
    /// 30s)
    #[arg(long, value_name = "DURATION", value_parser = link_grace)]
    pub(super) link_grace: Option<Span>,
    /// Keep a step assigned to an instance that has lost contact for this long (default: 15s)
    #[arg(long, value_name = "DURATION", value_parser = lease)]
    pub(super) lease_ttl: Option<Span>,
    /// Have the other instances report this often (default: a third of the lease duration)
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    pub(super) heartbeat: Option<Span>,
}

/// The role of this process in a run.
pub(crate) enum InstanceRole {
    /// The only process of the run.
    Alone,
    /// Runs everything, since no other instance can join.
    StandIn {
        /// The declared number of instances.
        total: u32,
    },
    /// The leader of the run.
    Leader(Box<LeaderInstanceOptions>),
    /// A worker of the leader.
    Worker(Box<InstanceJoinOptions>),
}

impl InstanceArgs {
    /// Derives the role from flags and variables.
    pub(crate) fn part(&self, context: &CommandContext) -> Result<InstanceRole, CliError> {
        let said = InstanceSettings::of(self)?;
        let ci = [set("GITHUB_RUN_ID"), set("GITHUB_RUN_ATTEMPT"), set("CI_PIPELINE_ID")];
        let [github_run, github_attempt, gitlab_pipeline] = ci.each_ref().map(Option::as_deref);
        let options = InstanceOptions {
            instance: said.instance,
            total: said.total,
            link: said.link.as_deref(),
            run_id: said.run_id.as_deref(),
            ci: CiVariables { github_run, github_attempt, gitlab_pipeline },
        };
        let role = SharedRunRole::of(options).map_err(|why| CliError::usage(why.to_string()))?;
        self.refuse_idle_pace(&role)?;
        match role {
            SharedRunRole::Standalone => Ok(InstanceRole::Alone),
            SharedRunRole::RunsAll { total } => Ok(InstanceRole::StandIn { total }),
            SharedRunRole::Leader(shared) => {
                said.leader_options(shared, context).map(Box::new).map(InstanceRole::Leader)
            }
            SharedRunRole::Worker { instance, shared } => {
                said.join_options(instance, shared, context).map(Box::new).map(InstanceRole::Worker)
            }
        }
    }
}

impl InstanceArgs {
    /// Refuses lease times where no leader would read them. Variables are usually set for all instances at once, so
    /// they are not refused.
    fn refuse_idle_pace(&self, role: &SharedRunRole) -> Result<(), CliError> {
        let (flag, variable) = match (self.lease_ttl, self.heartbeat) {
            (Some(_), _) => ("--lease-ttl", "WINDLASS_LEASE_TTL"),
            (None, Some(_)) => ("--heartbeat", "WINDLASS_HEARTBEAT"),
            (None, None) => return Ok(()),
        };
        let (what, hint) = match role {
            SharedRunRole::Leader(_) | SharedRunRole::RunsAll { .. } => return Ok(()),
            SharedRunRole::Standalone => (
                format!(
                    "{flag} is for one run by several processes: leases do not expire in a single process"
                ),
                "leave it out, or add `--instance 0 --total N --link URL` (docs/guides/ci.md)"
                    .to_owned(),
            ),
            SharedRunRole::Worker { instance, .. } => (
                format!(
                    "{flag} is for instance 0, which sends it to the others; this is {instance}"
                ),
                format!("give it to instance 0 alone, or set {variable}: the others ignore it"),
            ),
        };
        Err(CliError::usage(what).hint(hint))
    }
}
