//! Frames, and connections between programs that do not fit.

use std::io;

use tokio::io::{AsyncWriteExt as _, duplex};

use super::LeaderConnection;
use super::frames::{PeerHello, read_frame, write_frame};

#[tokio::test]
async fn frame_arrives_as_it_was_sent() {
    let (mut near, mut far) = duplex(16);
    let hello = PeerHello::own();
    let (written, read) = tokio::join!(write_frame(&mut near, &hello), read_frame(&mut far));
    written.unwrap();
    assert_eq!(PeerHello::own(), read.unwrap());
}

#[tokio::test]
async fn frame_beyond_the_limit_or_cut_short_is_an_error() {
    for (len, kind) in [(u32::MAX, io::ErrorKind::Other), (100, io::ErrorKind::UnexpectedEof)] {
        let (mut near, mut far) = duplex(64);
        near.write_all(&len.to_le_bytes()).await.unwrap();
        near.write_all(b"short").await.unwrap();
        drop(near);
        assert_eq!(read_frame::<PeerHello>(&mut far).await.unwrap_err().kind(), kind);
    }
}

#[tokio::test]
async fn leader_of_another_version_is_refused() {
    let (mut leader, standby) = duplex(256);
    write_frame(&mut leader, &"0.0.0 another format").await.unwrap();
    let refused = LeaderConnection::over(standby).await.unwrap_err().to_string();
    assert!(refused.contains("another version of windlass"), "{refused}");
}
