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

use super::controller::Controller;
use super::origin::{OriginArgs, folder};
use crate::cli::context::Context;
use crate::cli::environment;
use crate::cli::error::CliError;
use crate::cli::project::{STORE, store_address};
use crate::controller::NodeError;
use crate::controller::api::About;
use crate::journal::Leading;
use crate::local::{
    Office, Socket, Station, StationError, StoreAddress, Stores, is_led, leader_at, peek,
};
use crate::logs::Announced;
use crate::shutdown::ShutdownSender;
use crate::store::folder::make;

/// The number of the worker in a leader's own process: what it holds ends with its process.
const OWN: WorkerId = WorkerId(1);

/// How long a shared store stays without a leader if this process is killed in the middle.
const TERM: Span = Span::secs(2);

/// Whoever decides, for as long as a command takes.
#[derive(Debug)]
pub(crate) struct Desk {
    controller: Controller,
    /// What leads meanwhile, if nobody else does.
    brief: Option<Brief>,
}

#[derive(Debug)]
struct Brief {
    station: Station,
    servers: ShutdownSender,
    serving: JoinHandle<()>,
}

impl Desk {
    /// Finds whoever decides.
    pub(crate) async fn find(args: &OriginArgs, context: &Context) -> Result<Self, CliError> {
        if let Some(controller) = args.named(context)? {
            return Ok(Self { controller, brief: None });
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
        let brief = if is_led(&state) { None } else { Some(Brief::lead(&store, &state).await?) };
        let (client, place) = leader_at(&state);
        let controller = Controller::new(place.into(), client, String::new());
        let desk = Self { controller, brief };
        if desk.brief.is_none() {
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
    pub(crate) const fn controller(&self) -> &Controller {
        &self.controller
    }

    /// Leaves the store as it was found, with what was decided.
    pub(crate) async fn leave(self) -> Result<(), CliError> {
        let Some(Brief { station, servers, serving }) = self.brief else { return Ok(()) };
        servers.shut_down();
        drop(serving.await);
        Ok(station.shut_down().await?)
    }
}

impl Brief {
    async fn lead(store: &StoreAddress, state: &Path) -> Result<Self, CliError> {
        let stores = Stores::at(store, TERM).await?;
        if let Some(Leading { node, address }) = stores.journal.leader().await? {
            return Err(StationError::from(NodeError::Led { node, pid: None, address }).into());
        }
        refuse_to_interrupt(store).await?;
        let station = Station::lead(&stores, Office::alone(&environment::host_name())).await?;
        let logs = Arc::new(Announced::new(Arc::clone(&stores.logs)));
        let about = About { cluster: String::new(), advertise: String::new() };
        let (servers, ends) = ShutdownSender::new();
        let made = make(state);
        let socket = made.and_then(|()| Socket::bind(state, station.api(&stores, &logs, about)));
        let socket = socket.map_err(|error| {
            CliError::unreachable(format!("nothing can be asked in {}: {error}", state.display()))
        })?;
        Ok(Self { station, servers, serving: tokio::spawn(socket.run(ends)) })
    }
}

/// A takeover gives those who hold leases one TTL to be heard: by the time that their controller is back it may be over.
async fn refuse_to_interrupt(store: &StoreAddress) -> Result<(), CliError> {
    let held = |engine: &Engine| engine.leases().filter(|lease| lease.worker != OWN).count();
    let held = peek(store, held).await.map_err(StationError::from)?.unwrap_or(0);
    if held == 0 {
        return Ok(());
    }
    let what = format!("workers hold {held} steps of {store}, and nobody leads it");
    Err(CliError::usage(what).hint("start its controller first: this command then asks it"))
}
