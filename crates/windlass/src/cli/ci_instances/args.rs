//! What was said about instances, and what follows from it.

use std::path::Path;
use std::time::Duration;

use windlass_core::engine::UnplaceablePolicy;
use windlass_core::instance::{CiVariables, InstanceGroup, InstanceOptions, SharedRunRole};
use windlass_core::time::Span;

use super::leader_instance::LeaderInstanceOptions;
use super::link_reachability::watch_links;
use super::worker_instance::InstanceJoinOptions;
use crate::cli::commands::serve::{lease, within};
use crate::cli::context::CommandContext;
use crate::cli::environment::{self, set};
use crate::cli::error::CliError;
use crate::cli::local_run_args::read_duration;
use crate::embedded::EMBEDDED_LEASE_TTL;
use crate::link::mailbox::{MailboxAddress, MailboxKey};

/// How long an instance goes on without its leader: a restart of it takes less, also if the link keeps its place for
/// [`LINK_GRACE`] first.
const GRACE: Duration = Duration::from_mins(1);

/// How long an instance goes on without the link: a restart of the link takes less.
const LINK_GRACE: Duration = Duration::from_secs(30);

/// The shortest: less is lost by the pause of a busy machine. A tenth of it and half a second are left to stop in.
const LINK_GRACES: (Span, Span) = (Span::secs(2), Span::hours(1));

/// How long others are waited for that may not have begun: runners of a CI service start minutes apart.
const PATIENCE: Duration = Duration::from_mins(10);

/// What `windlass run` takes so that several processes share a run. Each may also be said by a variable, such as
/// `WINDLASS_INSTANCE`.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "One run by several processes (docs/guides/ci.md)")]
pub(crate) struct InstanceArgs {
    /// Which instance this is, from 0, which leads
    #[arg(long, value_name = "I", allow_negative_numbers = true)]
    instance: Option<i64>,
    /// How many instances there are
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    total: Option<i64>,
    /// Where they meet: the address of a Redis, a PostgreSQL, or a link of one's own
    #[arg(long, value_name = "URL")]
    link: Option<String>,
    /// The name of the run, the same in every instance; known by itself in GitHub Actions and GitLab
    #[arg(long, value_name = "NAME")]
    run_id: Option<String>,
    /// Have instance 0 wait for so many others before it begins
    #[arg(long, value_name = "N")]
    min_workers: Option<u32>,
    /// How long to go on without instance 0; 60s if not said. One that has not come yet is waited for as long, or for ten
    /// minutes if this is not said
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    leader_grace: Option<Span>,
    /// Go on without the link for this long; a killed instance 0 keeps its place there for as long (default: 30s)
    #[arg(long, value_name = "DURATION", value_parser = link_grace)]
    link_grace: Option<Span>,
    /// Keep a step for another instance that is not heard for this long (default: 15s)
    #[arg(long, value_name = "DURATION", value_parser = lease)]
    lease_ttl: Option<Span>,
    /// Have the other instances report this often (default: a third of the lease duration)
    #[arg(long, value_name = "DURATION", value_parser = read_duration)]
    heartbeat: Option<Span>,
}

/// The part of this process in a run.
pub(crate) enum InstanceRole {
    /// All of it.
    Alone,
    /// All of it, in the place of others.
    StandIn {
        /// How many there should be.
        total: u32,
    },
    /// It leads.
    Leader(Box<LeaderInstanceOptions>),
    /// It works for whoever leads.
    Worker(Box<InstanceJoinOptions>),
}

impl InstanceArgs {
    /// What follows from flags and variables.
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
    /// Refuses the pace of leases where no leader would read it. Variables are usually set for all instances at once, so
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
                format!("{flag} is for one run by several processes: here no lease ends by time"),
                "leave it out, or add `--instance 0 --total N --link URL` (docs/guides/ci.md)".to_owned(),
            ),
            SharedRunRole::Worker { instance, .. } => (
                format!("{flag} is for instance 0, which tells the others; this is {instance}"),
                format!("give it to instance 0 alone, or set {variable}: the others ignore it"),
            ),
        };
        Err(CliError::usage(what).hint(hint))
    }
}

/// What was said, by flag or by variable.
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
        let number = |text: &str| text.parse().map_err(|_| "is no number".to_owned());
        let count = |text: &str| text.parse().map_err(|_| "is no number".to_owned());
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
            return Err(CliError::usage(what).hint("--min-workers counts without instance 0"));
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
        let what = format!("--heartbeat {heartbeat} does not fit into --lease-ttl {ttl} twice");
        Err(CliError::usage(what).hint("leave --heartbeat out: it is a third of --lease-ttl then"))
    }

    fn join_options(
        &self,
        instance: u32,
        shared: InstanceGroup,
        context: &CommandContext,
    ) -> Result<InstanceJoinOptions, CliError> {
        let (site, key) = mailbox_site(&shared);
        // An address that makes no sense is told before anything is begun.
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
    within(text, LINK_GRACES, "it lasts from 2s to 1h")
}

/// The mailboxes of a run, and what proves letters there.
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

/// What a flag says, or else a variable.
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
