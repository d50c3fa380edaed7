//! The settings of instances: arguments first, then variables of the CI system.

use std::path::Path;
use std::time::Duration;

use windlass_core::engine::UnplaceablePolicy;
use windlass_core::instance::InstanceGroup;
use windlass_core::time::Span;
use windlass_link::mailbox::{MailboxAddress, MailboxKey};

use super::args::InstanceArgs;
use super::instance_join::InstanceJoinOptions;
use super::leader_instance::LeaderInstanceOptions;
use super::link_reachability::watch_links;
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

/// The settings of an instance, from flags or variables.
pub(super) struct InstanceSettings {
    pub(super) instance: Option<i64>,
    pub(super) total: Option<i64>,
    pub(super) link: Option<String>,
    pub(super) run_id: Option<String>,
    pub(super) min_workers: Option<u32>,
    pub(super) leader_grace: Option<Duration>,
    pub(super) link_grace: Option<Duration>,
    pub(super) lease_ttl: Option<Span>,
    pub(super) heartbeat: Option<Span>,
}

impl InstanceSettings {
    pub(super) fn of(args: &InstanceArgs) -> Result<Self, CliError> {
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

    pub(super) fn leader_options(
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
    pub(super) fn check_pace(&self) -> Result<(), CliError> {
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

    pub(super) fn join_options(
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

pub(super) fn link_grace(text: &str) -> Result<Span, String> {
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
