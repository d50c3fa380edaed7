//! Files of steps through a controller process: it may be killed at any time, and its memory is bounded.

use std::net::SocketAddr;
use std::thread;

use windlass::core::object::ObjectId;
use windlass_store::objects::{ObjectStore as _, SEND_MAX};

use crate::api::object_clients::{client_of, object};
use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::{block_on, is_deep};

fn address(cluster: &LocalCluster) -> SocketAddr {
    cluster.address().parse().expect("an address")
}

#[test]
fn upload_continues_after_the_controller_was_killed() {
    let mut cluster = LocalCluster::start("--no-exec");
    let client = client_of(&[address(&cluster)]);
    let (id, bytes) = object(1, 4 * SEND_MAX + 5);
    let pieces: Vec<&[u8]> = bytes.chunks(SEND_MAX).collect();
    let offset = |piece: usize| (piece * SEND_MAX) as u64;
    block_on(async {
        for (number, piece) in pieces[..2].iter().enumerate() {
            client.append(id, offset(number), piece.to_vec()).await.expect("it is stored");
        }
    });
    cluster.kill();
    thread::scope(|scope| {
        // It is sent while no controller listens.
        let next = scope.spawn(|| block_on(client.append(id, offset(2), pieces[2].to_vec())));
        cluster.restart();
        assert_eq!(next.join().expect("it does not panic"), Ok(offset(3)));
    });
    block_on(async {
        assert_eq!(client.uploaded(id).await, Ok(offset(3)));
        for (number, piece) in pieces.iter().enumerate().skip(3) {
            client.append(id, offset(number), piece.to_vec()).await.expect("it is stored");
        }
        client.finish(id, bytes.len() as u64).await.expect("the bytes are right");
        assert_eq!(client.missing(vec![id]).await, Ok(Vec::new()));
    });
}

#[test]
fn objects_are_kept_in_the_named_folder() {
    let cluster = LocalCluster::start("--no-exec --objects files");
    let (id, bytes) = object(1, 10);
    block_on(client_of(&[address(&cluster)]).put_batch(vec![(id, bytes)])).expect("it is stored");
    assert!(cluster.project.path().join("files/packs").is_dir());
    assert!(!cluster.project.path().join(".windlass/objects").exists());
}

/// Sends an object of this size, made of pieces that differ, and reads it.
async fn stream(address: SocketAddr, size: usize) {
    let client = client_of(&[address]);
    let piece = |at: usize| {
        let mut piece = vec![0; SEND_MAX.min(size - at)];
        blake3::Hasher::new().update(&at.to_le_bytes()).finalize_xof().fill(&mut piece);
        piece
    };
    let mut hasher = blake3::Hasher::new();
    for at in (0..size).step_by(SEND_MAX) {
        hasher.update(&piece(at));
    }
    let id = ObjectId::new(*hasher.finalize().as_bytes());
    for at in (0..size).step_by(SEND_MAX) {
        client.append(id, at as u64, piece(at)).await.expect("it is stored");
    }
    client.finish(id, size as u64).await.expect("the bytes are right");
    let mut at = 0;
    while at < size {
        let part = client.read(id, at as u64..u64::MAX).await.expect("it reads");
        at += part.bytes.len();
    }
}

/// Memory of the controller beyond that at rest, for a stream of any size.
const STREAM_KIB_MAX: u64 = 64 << 10;

#[test]
fn memory_of_a_stream_is_bounded() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(""), "--no-exec");
    let address = address(&cluster);
    let base = cluster.controller.peak();
    let size = if is_deep() { 1 << 30 } else { 192 << 20 };
    block_on(stream(address, size));
    let more = cluster.controller.peak() - base;
    println!("a stream of {size} bytes took {more} KiB beyond {base} KiB");
    assert!(more <= STREAM_KIB_MAX, "{more} KiB beyond {base} KiB");
}
