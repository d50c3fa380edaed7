//! Clients of objects: the promises of a store hold over HTTP, and faults of the network cost repetitions only.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle, Runtime};
use windlass::core::object::ObjectId;
use windlass::core::time::Time;
use windlass::embedded::Stores;
use windlass_link::http::HttpObjects;
use windlass_net::http::{ClientCredentials, HttpClient, TcpDialer};
use windlass_store::conformance::{StorageHarness, check_object_store};
use windlass_store::db::StoreError;
use windlass_store::objects::{
    BLOCK, ObjectError, ObjectFuture, ObjectInventory, ObjectPart, ObjectStore, RemovedObjects,
    SEND_MAX, StoredObject,
};

use crate::support::faulty_proxy::{ConnectionFault, FaultyProxy};
use crate::support::in_process_controller::{ControllerSetup, InProcessController};

/// A client of the controllers at these addresses.
pub(crate) fn client_of(addresses: &[SocketAddr]) -> HttpObjects {
    let client = HttpClient::new(Arc::new(TcpDialer), ClientCredentials::default());
    let given = addresses.iter().map(|it| format!("http://{it}").parse().expect("an address"));
    HttpObjects::new(&client, given.collect())
}

/// Bytes that hardly shrink, and their object.
pub(crate) fn object(seed: u64, size: usize) -> (ObjectId, Vec<u8>) {
    let mut bytes = vec![0; size];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    (ObjectId::of(&bytes), bytes)
}

/// A controller on a folder, for checks that block their thread.
struct ServedStorage {
    runtime: Option<Runtime>,
    controller: Mutex<Option<InProcessController>>,
    address: SocketAddr,
    /// The objects of the controller's process.
    objects: Arc<dyn ObjectInventory>,
    _folder: TempDir,
}

impl ServedStorage {
    fn new() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime starts");
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let stores = Stores::open(folder.path()).expect("stores open");
        let objects = stores.objects.clone().expect("a folder has objects");
        let setup = ControllerSetup { stores, ..ControllerSetup::default() };
        let controller = runtime.block_on(InProcessController::with(setup));
        let (address, controller) = (controller.address, Mutex::new(Some(controller)));
        Self { runtime: Some(runtime), controller, address, objects, _folder: folder }
    }
}

impl Drop for ServedStorage {
    fn drop(&mut self) {
        let controller = self.controller.lock().ok().and_then(|mut it| it.take());
        if let (Some(runtime), Some(controller)) = (self.runtime.take(), controller) {
            runtime.block_on(controller.shut_down());
            runtime.shutdown_background();
        }
    }
}

impl StorageHarness<dyn ObjectInventory> for ServedStorage {
    fn open(&self) -> Arc<dyn ObjectInventory> {
        let runtime = self.runtime.as_ref().expect("it runs").handle().clone();
        let (client, objects) = (Arc::new(client_of(&[self.address])), Arc::clone(&self.objects));
        Arc::new(ServedObjects { client, runtime, objects })
    }
}

/// A client whose requests run on the runtime of the controller. What only the controller's own process does is done there.
#[derive(Debug)]
struct ServedObjects {
    client: Arc<HttpObjects>,
    runtime: Handle,
    objects: Arc<dyn ObjectInventory>,
}

impl ServedObjects {
    fn call<T: Send + 'static, F: Future<Output = Result<T, ObjectError>> + Send + 'static>(
        &self,
        call: impl FnOnce(Arc<HttpObjects>) -> F,
    ) -> ObjectFuture<'_, T> {
        let called = self.runtime.spawn(call(Arc::clone(&self.client)));
        Box::pin(async { called.await.expect("a call does not panic") })
    }
}

impl ObjectStore for ServedObjects {
    fn missing(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<ObjectId>> {
        self.call(async move |client| client.missing(ids).await)
    }

    fn put_batch(&self, objects: Vec<(ObjectId, Vec<u8>)>) -> ObjectFuture<'_, ()> {
        self.call(async move |client| client.put_batch(objects).await)
    }

    fn get_batch(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<Vec<u8>>> {
        self.call(async move |client| client.get_batch(ids).await)
    }

    fn uploaded(&self, id: ObjectId) -> ObjectFuture<'_, u64> {
        self.call(async move |client| client.uploaded(id).await)
    }

    fn append(&self, id: ObjectId, at: u64, bytes: Vec<u8>) -> ObjectFuture<'_, u64> {
        self.call(async move |client| client.append(id, at, bytes).await)
    }

    fn finish(&self, id: ObjectId, size: u64) -> ObjectFuture<'_, ()> {
        self.call(async move |client| client.finish(id, size).await)
    }

    fn read(&self, id: ObjectId, range: Range<u64>) -> ObjectFuture<'_, ObjectPart> {
        self.call(async move |client| client.read(id, range).await)
    }
}

impl ObjectInventory for ServedObjects {
    fn list(&self, after: Option<ObjectId>, limit: usize) -> ObjectFuture<'_, Vec<StoredObject>> {
        self.objects.list(after, limit)
    }

    fn remove(&self, ids: Vec<ObjectId>, since: Time) -> ObjectFuture<'_, RemovedObjects> {
        self.objects.remove(ids, since)
    }

    fn clock(&self) -> ObjectFuture<'_, Time> {
        self.objects.clock()
    }
}

#[test]
fn objects_over_http_conform() {
    check_object_store("http", ServedStorage::new);
}

/// A controller, a proxy in front of it, and a client of the proxy.
struct ProxiedObjects {
    controller: InProcessController,
    proxy: FaultyProxy,
    client: HttpObjects,
    _folder: TempDir,
}

impl ProxiedObjects {
    async fn start() -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let controller = InProcessController::start_in(folder.path()).await;
        let proxy = FaultyProxy::start(controller.address).await;
        let client = client_of(&[proxy.address]);
        Self { controller, proxy, client, _folder: folder }
    }

    /// A client whose next connections have these faults.
    fn fail(&mut self, faults: impl IntoIterator<Item = ConnectionFault>) {
        self.client = client_of(&[self.proxy.address]);
        self.proxy.fail(faults);
        self.proxy.take_received();
    }

    async fn read_all(&self, id: ObjectId) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let part = self.client.read(id, bytes.len() as u64..u64::MAX).await.expect("it reads");
            bytes.extend(part.bytes);
            if bytes.len() as u64 >= part.size {
                return bytes;
            }
        }
    }
}

const MIB: u64 = 1 << 20;

#[tokio::test]
async fn each_fault_of_a_connection_costs_repetitions_only() {
    let mut served = ProxiedObjects::start().await;
    let large = object(9, 2 * BLOCK + 7);
    let small =
        |round: u64| -> Vec<_> { (0..8).map(|at| object(10 * round + at, 100_000)).collect() };
    for (round, fault) in (1..).zip([
        ConnectionFault::ResetRequest(0),
        ConnectionFault::ResetRequest(400_000),
        ConnectionFault::ResetAnswer(0),
        ConnectionFault::FlipRequest(400_000),
        ConnectionFault::Unavailable,
    ]) {
        served.fail([fault; 3]);
        served.client.put_batch(small(round)).await.expect("it is repeated");
        assert!(served.proxy.faults_left() < 3, "{fault:?}");
        served.fail([fault; 3]);
        let (id, bytes) = &large;
        served.client.append(*id, 0, bytes.clone()).await.expect("it is repeated");
        served.client.finish(*id, bytes.len() as u64).await.expect("the bytes are right");
    }
    let small = small(1);
    let ids: Vec<ObjectId> = small.iter().map(|(id, _)| *id).collect();
    for fault in [
        ConnectionFault::ResetAnswer(0),
        ConnectionFault::ResetAnswer(300_000),
        ConnectionFault::FlipAnswer(300_000),
        ConnectionFault::Unavailable,
    ] {
        served.fail([fault; 3]);
        let found = served.client.get_batch(ids.clone()).await.expect("it is repeated");
        assert!(found.iter().zip(&small).all(|(found, (_, sent))| found == sent), "{fault:?}");
        served.fail([fault; 3]);
        assert!(served.read_all(large.0).await == large.1, "{fault:?}");
    }
    served.controller.shut_down().await;
}

#[tokio::test]
async fn piece_whose_answer_is_lost_is_not_sent_again() {
    let mut served = ProxiedObjects::start().await;
    let (id, bytes) = object(1, 2 * SEND_MAX);
    served.fail([ConnectionFault::ResetAnswer(0)]);
    let size = served.client.append(id, 0, bytes[..SEND_MAX].to_vec()).await;
    assert_eq!(size, Ok(SEND_MAX as u64));
    let sent = served.proxy.take_received();
    assert!((4 * MIB..5 * MIB).contains(&sent), "{sent}");
    let size = served.client.append(id, SEND_MAX as u64, bytes[SEND_MAX..].to_vec()).await;
    assert_eq!(size, Ok(2 * SEND_MAX as u64));
    served.client.finish(id, bytes.len() as u64).await.expect("the bytes are right");
    assert!(served.read_all(id).await == bytes);
    served.controller.shut_down().await;
}

#[tokio::test]
async fn batch_whose_answer_is_lost_is_not_sent_again() {
    let mut served = ProxiedObjects::start().await;
    let objects: Vec<_> = (0..4).map(|seed| object(seed, BLOCK)).collect();
    served.fail([ConnectionFault::ResetAnswer(0)]);
    served.client.put_batch(objects).await.expect("it is stored");
    let sent = served.proxy.take_received();
    assert!((4 * MIB..5 * MIB).contains(&sent), "{sent}");
    served.controller.shut_down().await;
}

#[tokio::test]
async fn blocks_of_another_sender_are_not_sent_again() {
    let mut served = ProxiedObjects::start().await;
    let (id, bytes) = object(1, SEND_MAX);
    served.fail([ConnectionFault::ResetRequest(MIB)]);
    let other = client_of(&[served.controller.address]);
    other.append(id, 0, bytes[..2 * BLOCK].to_vec()).await.expect("it begins");
    // The first try is refused, or cut off and then continued behind the blocks of the other sender.
    let size = match served.client.append(id, 0, bytes.clone()).await {
        Err(ObjectError::Offset { expected, .. }) => Ok(expected),
        size => size,
    };
    assert_eq!(size, Ok(4 * MIB));
    let sent = served.proxy.take_received();
    assert!(sent < 4 * MIB, "{sent}");
    served.client.finish(id, bytes.len() as u64).await.expect("the bytes are right");
    served.controller.shut_down().await;
}

#[tokio::test]
async fn client_goes_on_with_the_next_controller() {
    let served = ProxiedObjects::start().await;
    let gone = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let nowhere = gone.local_addr().expect("it has an address");
    drop(gone);
    let client = client_of(&[nowhere, served.controller.address]);
    let (id, bytes) = object(1, 10);
    client.put_batch(vec![(id, bytes.clone())]).await.expect("the second answers");
    assert_eq!(client.get_batch(vec![id]).await, Ok(vec![bytes]));
    served.controller.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn call_ends_at_its_deadline_if_no_controller_answers() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = silent.local_addr().expect("it has an address");
    let began = tokio::time::Instant::now();
    let lost = client_of(&[address]).missing(vec![object(1, 1).0]).await;
    let lost = lost.expect_err("it never answers");
    assert!(matches!(lost, ObjectError::Store(StoreError::Unavailable { .. })), "{lost}");
    let text = lost.to_string();
    assert!(text.contains("every try failed until the deadline"), "{text}");
    assert!(began.elapsed() <= Duration::from_secs(121), "{:?}", began.elapsed());
    drop(silent);
}
