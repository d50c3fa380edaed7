//! Paths that leave the API, heads that contain a second request, and bodies with two lengths.

use tokio::io::AsyncWriteExt as _;

use crate::support::in_process_controller::{InProcessController, read_to_end};

/// Returns the answer to a target.
async fn status_of(controller: &InProcessController, target: &[u8]) -> u16 {
    let head = [b"GET ", target, b" HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"].concat();
    controller.send(&head).await.status
}

#[tokio::test]
async fn paths_reach_only_routes() {
    let controller = InProcessController::start().await;
    let nowhere: [&[u8]; 13] = [
        b"/runs/../../etc/passwd",
        b"/%2e%2e/%2e%2e/etc/passwd",
        b"/runs/%2e%2e%2fetc%2fpasswd",
        b"//runs",
        b"/runs//",
        b"/./runs",
        b"/runs/%00",
        b"/runs/a%0d%0aset-cookie:%20a=b",
        b"/runs\\..\\x",
        b"/.windlass/journal.db",
        b"/RUNS",
        b"/runs%2f",
        b"*",
    ];
    for target in nowhere {
        let shown = String::from_utf8_lossy(target);
        assert_eq!(status_of(&controller, target).await, 404, "{shown}");
    }
    // Over-long encodings of `.`, an incomplete character, and texts that are no targets.
    let nonsense: [&[u8]; 6] =
        [b"/runs/%c0%ae%c0%ae", b"/runs/%e2%82", b"/\xff", b"/a b", b"http:///runs", b"/runs/\x00"];
    for target in nonsense {
        let shown = String::from_utf8_lossy(target);
        assert_eq!(status_of(&controller, target).await, 400, "{shown}");
    }
    let injected = controller.get("/runs/a%0d%0aset-cookie:%20a=b").await;
    assert!(!injected.head.to_lowercase().contains("set-cookie"), "{}", injected.head);
    controller.shut_down().await;
}

/// Returns the number of answers to a request with these header lines and a second request hidden in its body.
async fn answers(controller: &InProcessController, lines: &str) -> (u16, usize) {
    let hidden = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
    let head = format!("POST /runs/latest/cancel HTTP/1.1\r\nhost: a\r\n{lines}\r\n");
    let mut stream = controller.connect().await;
    stream.write_all(format!("{head}0\r\n\r\n{hidden}").as_bytes()).await.expect("it listens");
    drop(stream.shutdown().await);
    let all = String::from_utf8_lossy(&read_to_end(&mut stream).await).into_owned();
    let status = all.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    (status, all.matches("HTTP/1.1 200").count())
}

#[tokio::test]
async fn a_head_is_one_head_and_a_body_has_one_length() {
    let controller = InProcessController::start().await;
    let refused = [
        "x: a\rb\r\n",
        "x: a\0b\r\n",
        "x : a\r\n",
        "x: a\r\n folded\r\n",
        ": a\r\n",
        "content-length: 5\r\ncontent-length: 6\r\n",
        "content-length: 0, 5\r\n",
        "content-length: -1\r\n",
        "content-length: +5\r\n",
        "content-length: 0x5\r\n",
        "content-length: 99999999999999999999\r\n",
        "transfer-encoding: xchunked\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "host: b\r\n",
    ];
    for lines in refused {
        assert_eq!(answers(&controller, lines).await, (400, 0), "{lines:?}");
    }
    // A proxy in front may use the other length, so the bytes after such a request are not read.
    let both = [
        "content-length: 0\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 40\r\n",
    ];
    for lines in both {
        let (status, hidden) = answers(&controller, lines).await;
        assert_eq!((status, hidden), (404, 0), "{lines:?}");
    }
    let (_, behind) = answers(&controller, "transfer-encoding: chunked\r\n").await;
    assert_eq!(behind, 1, "where there is one length, the next request is one");
    controller.shut_down().await;
}
