//! The leader for a command: the named controller, or the leader of the store in the current project.
//!
//! If no controller leads that store, this process leads it for the duration of the command. So the first token can
//! be created before a controller starts that requires one.

use std::path::Path;
use std::sync::Arc;

use tokio::task::JoinHandle;
use windlass_controller::NodeError;
use windlass_controller::api::ControllerIdentity;
use windlass_core::engine::Engine;
use windlass_core::id::WorkerId;
use windlass_core::time::Span;
use windlass_link::http::ClusterDescription;
use windlass_net::files::durable_folder::create_durably;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::journal::CurrentLeader;
use windlass_store::logs::NotifyingLogStore;

use super::cluster_client::ClusterClient;
use super::origin::{OriginArgs, folder};
use crate::cli::context::CommandContext;
use crate::cli::environment;
use crate::cli::error::CliError;
use crate::cli::project::{STORE, store_address};
use crate::embedded::{
    ControlSocket, EmbeddedNode, EmbeddedNodeError, LeaderOptions, StoreAddress, Stores, is_led,
    leader_client, read_state,
};

/// The worker in a leader's own process: its leases end with the process.
const OWN: WorkerId = WorkerId(1);

/// How long a shared store has no leader if this process is killed.
const TERM: Span = Span::secs(2);

/// Access to the leader, for the duration of a command.
#[derive(Debug)]
pub(crate) struct LeaderAccess {
    controller: ClusterClient,
    /// The temporary leader, if no controller leads.
    temporary_leader: Option<TemporaryLeader>,
}

#[derive(Debug)]
struct TemporaryLeader {
    node: EmbeddedNode,
    servers: ShutdownSender,
    serving: JoinHandle<()>,
}

impl LeaderAccess {
    /// Finds the leader.
    pub(crate) async fn find(
        args: &OriginArgs,
        context: &CommandContext,
    ) -> Result<Self, CliError> {
        if let Some(controller) = args.named(context)? {
            return Ok(Self { controller, temporary_leader: None });
        }
        let named = args.store.as_deref().map(store_address).transpose()?;
        let (store, state) = match named {
            // A controller that runs here also keeps its own files here.
            Some(shared @ StoreAddress::Postgres { .. }) => (shared, context.folder.join(STORE)),
            // A missing store is created as a controller would create it.
            Some(StoreAddress::Folder(_)) | None => {
                let store = folder(args.store.as_deref(), context);
                let store = store.unwrap_or_else(|_| context.folder.join(STORE));
                (StoreAddress::Folder(store.clone()), store)
            }
        };
        let brief =
            if is_led(&state) { None } else { Some(TemporaryLeader::lead(&store, &state).await?) };
        let (client, address) = leader_client(&state);
        let controller = ClusterClient::new(address.into(), client, String::new());
        let leader_access = Self { controller, temporary_leader: brief };
        if leader_access.temporary_leader.is_none() {
            leader_access.refuse_another(&store, &state).await?;
        }
        Ok(leader_access)
    }

    /// Refuses a local controller that leads another store than the named one.
    async fn refuse_another(&self, store: &StoreAddress, state: &Path) -> Result<(), CliError> {
        let StoreAddress::Postgres { .. } = store else { return Ok(()) };
        let wanted = Stores::at(store, TERM).await?.shared;
        let there: ClusterDescription = self.controller.get("/cluster").await?;
        if Some(there.id) == wanted {
            return Ok(());
        }
        let what = format!("the windlass that runs in {} uses another store", state.display());
        Err(CliError::usage(what)
            .hint("name a controller of this store with --to URL, or use another folder"))
    }

    /// The client for the leader.
    pub(crate) const fn controller(&self) -> &ClusterClient {
        &self.controller
    }

    /// Ends the temporary leader; the decisions remain in the store.
    pub(crate) async fn close(self) -> Result<(), CliError> {
        let Some(TemporaryLeader { node, servers, serving }) = self.temporary_leader else {
            return Ok(());
        };
        servers.shut_down();
        drop(serving.await);
        Ok(node.shut_down().await?)
    }
}

impl TemporaryLeader {
    async fn lead(store: &StoreAddress, state: &Path) -> Result<Self, CliError> {
        let stores = Stores::at(store, TERM).await?;
        if let Some(CurrentLeader { node, address }) = stores.journal.leader().await? {
            return Err(EmbeddedNodeError::from(NodeError::Led { node, pid: None, address }).into());
        }
        refuse_to_interrupt(store).await?;
        let node = EmbeddedNode::start_leader(
            &stores,
            LeaderOptions::exclusive(&environment::host_name()),
        )
        .await?;
        let logs = Arc::new(NotifyingLogStore::new(Arc::clone(&stores.logs)));
        let about = ControllerIdentity { cluster: String::new(), advertise: String::new() };
        let (servers, ends) = ShutdownSender::new();
        let made = create_durably(state);
        let socket =
            made.and_then(|()| ControlSocket::bind(state, node.api(&stores, &logs, about)));
        let socket = socket.map_err(|error| {
            CliError::unreachable(format!(
                "the store in {} cannot be led: {error}",
                state.display()
            ))
        })?;
        Ok(Self { node, servers, serving: tokio::spawn(socket.run(ends)) })
    }
}

/// A takeover gives holders of leases one TTL to reconnect, which could pass before their controller returns.
async fn refuse_to_interrupt(store: &StoreAddress) -> Result<(), CliError> {
    let held = |engine: &Engine| engine.leases().filter(|lease| lease.worker != OWN).count();
    let held = read_state(store, held).await.map_err(EmbeddedNodeError::from)?.unwrap_or(0);
    if held == 0 {
        return Ok(());
    }
    let what = format!("workers hold {held} steps of {store}, and no controller leads it");
    Err(CliError::usage(what).hint("start its controller first, then repeat the command"))
}
