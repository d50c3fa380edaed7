//! Whoever decides on what a command wants: the controller that was named, or the leader of the store that one stands in.
//!
//! Where nobody leads that store, this process does for as long as the command takes, and asks itself: so the first token
//! can be made before a controller is started that asks for one.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tokio::task::JoinHandle;
use windlass_core::engine::Engine;
use windlass_core::id::WorkerId;
use windlass_core::time::Span;

use super::cluster_client::ClusterClient;
use super::origin::{OriginArgs, folder};
use crate::cli::context::CommandContext;
use crate::cli::environment;
use crate::cli::error::CliError;
use crate::cli::project::{STORE, store_address};
use crate::controller::NodeError;
use crate::controller::api::ControllerIdentity;
use crate::db::durable_folder::create_durably;
use crate::embedded::{
    ControlSocket, EmbeddedNode, EmbeddedNodeError, LeaderOptions, StoreAddress, Stores, is_led,
    leader_client, read_state,
};
use crate::journal::CurrentLeader;
use crate::logs::NotifyingLogStore;
use crate::shutdown::ShutdownSender;

/// The number of the worker in a leader's own process: what it holds ends with its process.
const OWN: WorkerId = WorkerId(1);

/// How long a shared store stays without a leader if this process is killed in the middle.
const TERM: Span = Span::secs(2);

/// Whoever decides, for as long as a command takes.
#[derive(Debug)]
pub(crate) struct LeaderAccess {
    controller: ClusterClient,
    /// What leads meanwhile, if nobody else does.
    temporary_leader: Option<TemporaryLeader>,
}

#[derive(Debug)]
struct TemporaryLeader {
    station: EmbeddedNode,
    servers: ShutdownSender,
    serving: JoinHandle<()>,
}

impl LeaderAccess {
    /// Finds whoever decides.
    pub(crate) async fn find(
        args: &OriginArgs,
        context: &CommandContext,
    ) -> Result<Self, CliError> {
        if let Some(controller) = args.named(context)? {
            return Ok(Self { controller, temporary_leader: None });
        }
        let named = args.store.as_deref().map(store_address).transpose()?;
        let (store, state) = match named {
            // A controller that runs here keeps what is its own here, too.
            Some(shared @ StoreAddress::Postgres { .. }) => (shared, context.folder.join(STORE)),
            // Where there is no store yet it is made as a controller would make it.
            Some(StoreAddress::Folder(_)) | None => {
                let store = folder(args.store.as_deref(), context);
                let store = store.unwrap_or_else(|_| context.folder.join(STORE));
                (StoreAddress::Folder(store.clone()), store)
            }
        };
        let brief =
            if is_led(&state) { None } else { Some(TemporaryLeader::lead(&store, &state).await?) };
        let (client, place) = leader_client(&state);
        let controller = ClusterClient::new(place.into(), client, String::new());
        let desk = Self { controller, temporary_leader: brief };
        if desk.temporary_leader.is_none() {
            desk.refuse_another(&store, &state).await?;
        }
        Ok(desk)
    }

    /// Whoever listens here may lead another store than the one that is named.
    async fn refuse_another(&self, store: &StoreAddress, state: &Path) -> Result<(), CliError> {
        let StoreAddress::Postgres { .. } = store else { return Ok(()) };
        let wanted = Stores::at(store, TERM).await?.shared;
        let there: Value = self.controller.get("/cluster").await?;
        if there["id"].as_str() == wanted.as_deref() {
            return Ok(());
        }
        let what = format!("the windlass that runs in {} has another store", state.display());
        Err(CliError::usage(what)
            .hint("--to URL names a controller of this one; or ask from another folder"))
    }

    /// To be asked.
    pub(crate) const fn controller(&self) -> &ClusterClient {
        &self.controller
    }

    /// Leaves the store as it was found, with what was decided.
    pub(crate) async fn close(self) -> Result<(), CliError> {
        let Some(TemporaryLeader { station, servers, serving }) = self.temporary_leader else {
            return Ok(());
        };
        servers.shut_down();
        drop(serving.await);
        Ok(station.shut_down().await?)
    }
}

impl TemporaryLeader {
    async fn lead(store: &StoreAddress, state: &Path) -> Result<Self, CliError> {
        let stores = Stores::at(store, TERM).await?;
        if let Some(CurrentLeader { node, address }) = stores.journal.leader().await? {
            return Err(EmbeddedNodeError::from(NodeError::Led { node, pid: None, address }).into());
        }
        refuse_to_interrupt(store).await?;
        let station = EmbeddedNode::start_leader(
            &stores,
            LeaderOptions::exclusive(&environment::host_name()),
        )
        .await?;
        let logs = Arc::new(NotifyingLogStore::new(Arc::clone(&stores.logs)));
        let about = ControllerIdentity { cluster: String::new(), advertise: String::new() };
        let (servers, ends) = ShutdownSender::new();
        let made = create_durably(state);
        let socket =
            made.and_then(|()| ControlSocket::bind(state, station.api(&stores, &logs, about)));
        let socket = socket.map_err(|error| {
            CliError::unreachable(format!("nothing can be asked in {}: {error}", state.display()))
        })?;
        Ok(Self { station, servers, serving: tokio::spawn(socket.run(ends)) })
    }
}

/// A takeover gives those who hold leases one TTL to be heard: by the time that their controller is back it may be over.
async fn refuse_to_interrupt(store: &StoreAddress) -> Result<(), CliError> {
    let held = |engine: &Engine| engine.leases().filter(|lease| lease.worker != OWN).count();
    let held = read_state(store, held).await.map_err(EmbeddedNodeError::from)?.unwrap_or(0);
    if held == 0 {
        return Ok(());
    }
    let what = format!("workers hold {held} steps of {store}, and nobody leads it");
    Err(CliError::usage(what).hint("start its controller first: this command then asks it"))
}
