//! The flags and variables of instances, and the options that follow from them.

use std::path::Path;
use std::time::Duration;

use windlass_core::engine::UnplaceablePolicy;
use windlass_core::instance::{CiVariables, InstanceGroup, InstanceOptions, SharedRunRole};
use windlass_core::time::Span;
use windlass_link::mailbox::{MailboxAddress, MailboxKey};

use super::leader_instance::LeaderInstanceOptions;
use super::link_reachability::watch_links;
use super::worker_instance::InstanceJoinOptions;
use crate::cli::commands::serve::{lease, within};
use crate::cli::context::CommandContext;
use crate::cli::environment;
use crate::cli::environment::set;
use crate::cli::error::CliError;
use crate::cli::local_run_args::read_duration;
use crate::embedded::EMBEDDED_LEASE_TTL;

/// How long an instance continues without its leader. A leader restart takes less, even if the link keeps the old
/// binding for [`LINK_GRACE`] first.
const GRACE: Duration = Duration::from_mins(1);

/// How long an instance continues without the link; a restart of the link takes less.
const LINK_GRACE: Duration = Duration::from_secs(30);

/// The minimum survives the pause of a busy machine. A tenth of it and half a second remain for stopping.
const LINK_GRACES: (Span, Span) = (Span::secs(2), Span::hours(1));

/// How long to wait for instances that may not have started: CI runners start minutes apart.
const PATIENCE: Duration = Duration::from_mins(10);

/// Options of `windlass run` by which several processes share a run. Each can also be set by a variable such as
/// `WINDLASS_INSTANCE`.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "One run shared by several processes (docs/guides/ci.md)")]
pub(crate) struct InstanceArgs {
    /// Set the number of this instance, from 0; instance 0 leads
    #[arg(long, value_name = "I", allow_negative_numbers = true)]
    instance: Option<i64>,
    /// Set the number of instances
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    total: Option<i64>,
    /// Exchange messages through this broker: `redis://HOST`, `postgres://HOST/DATABASE`, or a link that is compiled into
    /// the program
    #[arg(long, value_name = "URL")]
    link: Option<String>,
    /// Name the run, the same in every instance (default in GitHub Actions and GitLab: from their run ids)
    #[arg(long, value_name = "NAME")]
    run_id: Option<String>,
    /// Start instance 0 only after this many other instances have joined
    #[arg(long, value_name = "N")]
    min_workers: Option<u32>,
    /// Continue without instance 0 for this long (default: 60s), and wait this long for an instance that has not
    /// started yet (default: 10m)
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    leader_grace: Option<Span>,
    /// Continue without the link for this long; the binding of a killed instance 0 also lasts this long (default:
    /// 30s)
    #[arg(long, value_name = "DURATION", value_parser = link_grace)]
    link_grace: Option<Span>,
    /// Keep a step assigned to an instance that has lost contact for this long (default: 15s)
    #[arg(long, value_name = "DURATION", value_parser = lease)]
    lease_ttl: Option<Span>,
    /// Have the other instances report this often (default: a third of the lease duration)
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    heartbeat: Option<Span>,
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
        let told = InstanceOptions {
            instance: said.instance,
            total: said.total,
            link: said.link.as_deref(),
            run_id: said.run_id.as_deref(),
            ci: CiVariables { github_run, github_attempt, gitlab_pipeline },
        };
        let role = SharedRunRole::of(told).map_err(|why| CliError::usage(why.to_string()))?;
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

/// The settings of an instance, from flags or variables.
struct InstanceSettings {
    instance: Option<i64>,
    total: Option<i64>,
    link: Option<String>,
    run_id: Option<String>,
    min_workers: Option<u32>,
    leader_grace: Option<Duration>,
    link_grace: Option<Duration>,
    lease_ttl: Option<Span>,
    heartbeat: Option<Span>,
}

impl InstanceSettings {
    fn of(args: &InstanceArgs) -> Result<Self, CliError> {
        let number = |text: &str| text.parse().map_err(|_| "write a number".to_owned());
        let count = |text: &str| text.parse().map_err(|_| "write a number".to_owned());
        let time = |span: Span| Duration::from_millis(span.as_millis());
        Ok(Self {
            instance: or_variable(args.instance, "WINDLASS_INSTANCE", number)?,
            total: or_variable(args.total, "WINDLASS_TOTAL", number)?,
            link: args.link.clone().or_else(|| set("WINDLASS_LINK")),
            run_id: args.run_id.clone().or_else(|| set("WINDLASS_RUN_ID")),
            min_workers: or_variable(args.min_workers, "WINDLASS_MIN_WORKERS", count)?,
            leader_grace: or_variable(args.leader_grace, "WINDLASS_LEADER_GRACE", read_duration)?
                .map(time),
            link_grace: or_variable(args.link_grace, "WINDLASS_LINK_GRACE", link_grace)?.map(time),
            lease_ttl: or_variable(args.lease_ttl, "WINDLASS_LEASE_TTL", lease)?,
            heartbeat: or_variable(args.heartbeat, "WINDLASS_HEARTBEAT", read_duration)?,
        })
    }

    fn leader_options(
        &self,
        shared: InstanceGroup,
        context: &CommandContext,
    ) -> Result<LeaderInstanceOptions, CliError> {
        let others = shared.total - 1;
        let min_workers = self.min_workers.unwrap_or(0);
        if min_workers > others {
            let what =
                format!("of {} instances {others} can join, not {min_workers}", shared.total);
            return Err(CliError::usage(what).hint("--min-workers does not count instance 0"));
        }
        self.check_pace()?;
        let (site, key) = mailbox_site(&shared);
        let mailboxes = context.links.open(&site);
        Ok(LeaderInstanceOptions {
            mailboxes: mailboxes.map_err(|error| CliError::usage(error.to_string()))?,
            key,
            total: shared.total,
            meeting: shared.rendezvous,
            min_workers,
            patience: self.leader_grace.unwrap_or(PATIENCE),
            expected_for: self.leader_grace.unwrap_or(GRACE),
            unplaceable: UnplaceablePolicy::Skip,
            link_grace: self.link_grace.unwrap_or(LINK_GRACE),
            lease_ttl: self.lease_ttl,
            heartbeat: self.heartbeat,
        })
    }

    /// A lease must outlast two heartbeats.
    fn check_pace(&self) -> Result<(), CliError> {
        let Some(heartbeat) = self.heartbeat else { return Ok(()) };
        let ttl = self.lease_ttl.unwrap_or(EMBEDDED_LEASE_TTL);
        if heartbeat > Span::ZERO && heartbeat.times(2) <= ttl {
            return Ok(());
        }
        let what = format!(
            "--lease-ttl {ttl} is shorter than two heartbeats of {heartbeat} (--heartbeat)"
        );
        Err(CliError::usage(what).hint("leave --heartbeat out (default: a third of --lease-ttl)"))
    }

    fn join_options(
        &self,
        instance: u32,
        shared: InstanceGroup,
        context: &CommandContext,
    ) -> Result<InstanceJoinOptions, CliError> {
        let (site, key) = mailbox_site(&shared);
        // Reports an invalid address before anything starts.
        context.links.open(&site).map_err(|error| CliError::usage(error.to_string()))?;
        let (links, contact) = watch_links(&context.links, site.scheme());
        Ok(InstanceJoinOptions {
            instance,
            total: shared.total,
            meeting: shared.rendezvous,
            site,
            key,
            links,
            contact,
            patience: self.leader_grace.unwrap_or(PATIENCE),
            leader_grace: self.leader_grace.unwrap_or(GRACE),
            link_grace: self.link_grace.unwrap_or(LINK_GRACE),
        })
    }
}

fn link_grace(text: &str) -> Result<Span, String> {
    within(text, LINK_GRACES, "it must be from 2s to 1h")
}

/// The mailboxes of a run, and the key that authenticates their messages.
fn mailbox_site(shared: &InstanceGroup) -> (MailboxAddress, MailboxKey) {
    let (run, ca) = (shared.rendezvous.name.clone(), set("WINDLASS_CA"));
    let key = MailboxKey::new(&run, environment::run_secret().as_deref());
    (
        MailboxAddress {
            url: shared.link.clone(),
            run,
            ca: ca.map(|file| Path::new(&file).to_owned()),
        },
        key,
    )
}

/// Returns the flag's value, or else the variable's.
fn or_variable<T>(
    flag: Option<T>,
    variable: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, CliError> {
    let (None, Some(text)) = (&flag, set(variable)) else { return Ok(flag) };
    let wrong = |why: String| {
        CliError::usage(format!("the environment variable {variable} is `{text}`: {why}"))
    };
    read(&text).map(Some).map_err(wrong)
}
