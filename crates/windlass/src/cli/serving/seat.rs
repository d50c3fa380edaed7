//! Where a controller sits: its stores, its node, and who works there.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::mail::{MailPlace, MailRoom};
use super::own::{OWN_STATE, OwnWorker, Post};
use super::post::{guard, place};
use super::serve::Serve;
use crate::cli::compiled::Workplace;
use crate::cli::error::CliError;
use crate::controller::StandBy;
use crate::controller::api::{About, Api, Company};
use crate::controller::observing::Upstream;
use crate::link::Link;
use crate::link::http::CallError;
use crate::link::output::StoredOutput;
use crate::local::{Crew, Office, Station, StoreAddress, Stores, cluster_id};
use crate::logs::Announced;
use crate::worker::executors::Traces;
use crate::worker::values::Depot;
use crate::worker::{Beside, State};

/// How long an observer that begins looks for whom it observes, and how soon it looks again.
const REACH_WITHIN: Duration = Duration::from_mins(1);
const REACH_EVERY: Duration = Duration::from_millis(250);

/// A controller's stores, and the node that leads them or stands by to.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) stores: Stores,
    pub(super) station: Station,
    /// Which cluster it is of.
    pub(super) cluster: String,
    logs: Arc<Announced>,
    post: Option<Post>,
    /// Whom it observes, if it does nothing else.
    upstream: Option<Arc<Upstream>>,
}

/// Who runs steps at a controller.
#[derive(Debug)]
pub(super) enum Hands {
    /// Nobody.
    None,
    /// A worker that shares its fate, and where that lives.
    Own {
        /// Held as long as the worker lives.
        _state: State,
    },
    /// A worker that works for whoever leads.
    Apart(OwnWorker),
}

impl Seat {
    /// Leads stores in a folder, or says who does; where they are shared, stands by to. An observer stands by for ever.
    pub(super) async fn take(order: &Serve, advertise: &str) -> Result<Self, CliError> {
        let stores = match &order.observe {
            Some(upstream) => observed(upstream).await?,
            None => match (&order.store, order.accept_lost_history) {
                (StoreAddress::Folder(folder), true) => Stores::open_accepting_loss(folder)?,
                (store, _) => Stores::at(store, order.term).await?,
            },
        };
        order.warn(&stores.warnings);
        let address = Some(advertise.to_owned());
        let office =
            Office { address, ttl: order.ttl, tell: order.tell(), ..Office::alone(&order.name) };
        let logs = Arc::new(Announced::new(Arc::clone(&stores.logs)));
        let Some(cluster) = stores.shared.clone() else {
            let station = Station::lead(&stores, office).await?;
            let cluster = own_cluster(order.home())?;
            return Ok(Self { stores, station, cluster, logs, post: None, upstream: None });
        };
        let post = Post::enter(order, &cluster)?;
        let own = post.as_ref().map(Post::worker_id);
        let office = Office { stand_by: order.stand_by, own, ..office };
        let station = Station::open(&stores, office).await?;
        let upstream = order.observe.clone();
        Ok(Self { stores, station, cluster, logs, post, upstream })
    }

    /// What is answered there.
    pub(super) fn api(&self, about: About) -> Api {
        let api = self.station.api(&self.stores, &self.logs, about);
        match &self.upstream {
            Some(upstream) => api.observing(Arc::clone(upstream)),
            None => api.in_company(self.company()),
        }
    }

    /// Who else can lead.
    pub(super) const fn company(&self) -> Company {
        if self.stores.shared.is_some() { Company::Others } else { Company::Alone }
    }

    /// Those who answer letters whenever it leads.
    pub(super) fn mail_rooms(&self, order: &Serve, about: &About) -> Vec<MailRoom> {
        let room = |place: &MailPlace| MailRoom {
            place: place.clone(),
            by: format!("the controller at {} (pid {})", about.advertise, std::process::id()),
            cluster: about.cluster.clone(),
            handle: self.station.handle().clone(),
            histories: Arc::clone(self.station.histories()),
            logs: Arc::clone(&self.logs),
            log: order.log,
        };
        order.mail.iter().map(room).collect()
    }

    /// Has somebody work there, where somebody is to. Who has to lead does so from here on.
    pub(super) async fn employ(&mut self, order: &Serve) -> Result<Hands, CliError> {
        let logs = Arc::clone(&self.logs);
        let shared = self.stores.shared.is_some();
        let hands = match self.post.take() {
            Some(post) => {
                let intake = self.station.intake(logs);
                Hands::Apart(post.begin(order, self.station.handle(), intake).await?)
            }
            None if shared || order.slots == 0 => Hands::None,
            None => {
                let state = State::open(&order.state.join(OWN_STATE))?;
                let link: Arc<dyn Link> = Arc::new(self.station.handle().clone());
                self.station.work(crew(order, &state, (logs, link)).await?).await?;
                Hands::Own { _state: state }
            }
        };
        if shared && order.stand_by == StandBy::Refuse {
            self.station.until_it_leads().await?;
        }
        Ok(hands)
    }
}

/// The stores of an observer, once it has reached whom it observes.
async fn observed(upstream: &Arc<Upstream>) -> Result<Stores, CliError> {
    let began = Instant::now();
    let mut pause = REACH_EVERY;
    loop {
        match upstream.cluster().await {
            Ok(there) => return Ok(Stores::observing(Arc::clone(upstream), there.id)),
            Err(CallError::Refused(problem)) => return Err(CallError::Refused(problem).into()),
            Err(error) if began.elapsed() > REACH_WITHIN => return Err(error.into()),
            Err(_) => sleep(pause).await,
        }
        pause = (pause * 2).min(REACH_WITHIN / 10);
    }
}

/// The controller's own worker. What a former life of it left alive is killed: its leases end with its life.
async fn crew(
    order: &Serve,
    state: &State,
    (logs, link): (Arc<Announced>, Arc<dyn Link>),
) -> Result<Crew, CliError> {
    let name = order.name.clone();
    let place = place(state, &order.root, (&name, &order.policy));
    let (guard, guard_place) = guard(state).await?;
    let life = Some((Arc::new(state.lives()?), guard_place));
    let executor = order.compiled.executor(Workplace {
        place,
        guard,
        will: None,
        ends_calls: false,
        depot: Arc::new(Depot::new(Arc::new(StoredOutput(Arc::clone(&logs) as _)))),
        logs,
        link,
        traces: Traces::Own(None),
    })?;
    let (slots, labels) = (order.slots, order.own_labels());
    Ok(Crew { name, slots, labels, beside: Beside::Others, executor, life })
}

/// The id of a cluster whose stores are in a folder.
fn own_cluster(folder: &Path) -> Result<String, CliError> {
    cluster_id(folder)
        .map_err(|error| CliError::unreachable(format!("the store cannot be named: {error}")))
}
