//! Tests of the client with tokens of controllers on this machine.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

use super::*;
use crate::http::dialer::{ConnectionStream, DialFuture};

/// A controller that accepts one token and counts its requests.
#[derive(Clone, Debug)]
struct LoopbackControllers {
    token: &'static str,
    asked: Arc<AtomicUsize>,
}

impl LoopbackControllers {
    async fn answer(self, mut stream: DuplexStream) -> io::Result<()> {
        let mut head = Vec::new();
        while let Ok(byte) = stream.read_u8().await {
            head.push(byte);
            if head.ends_with(b"\r\n\r\n") {
                self.asked.fetch_add(1, Ordering::SeqCst);
                let shown = String::from_utf8_lossy(&head);
                let is_right = shown.contains(&format!("Bearer {}\r\n", self.token));
                let status = if is_right { "200 OK" } else { "401 Unauthorized" };
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await?;
                head.clear();
            }
        }
        Ok(())
    }
}

impl Dialer for LoopbackControllers {
    fn dial<'a>(&'a self, _: &'a ControllerAddress) -> DialFuture<'a> {
        let (own, other) = duplex(4_096);
        tokio::spawn(self.clone().answer(other));
        Box::pin(async { Ok(Box::new(own) as Box<dyn ConnectionStream>) })
    }
}

/// Returns whether a controller with this token accepts a request to `localhost`, and the number of requests that the client
/// needs: for the first call, and for the second.
async fn let_in(token: &'static str) -> [(bool, usize); 2] {
    let asked = Arc::new(AtomicUsize::new(0));
    let doors = LoopbackControllers { token, asked: Arc::clone(&asked) };
    let client = HttpClient::new(Arc::new(doors), ClientCredentials::default());
    let find_tokens = |_: &ControllerAddress| vec!["wl_stale".to_owned(), "wl_newer".to_owned()];
    let client = HttpClient { find_tokens, ..client };
    let address: ControllerAddress = "http://localhost:7700".parse().unwrap();
    let mut times = [(false, 0); 2];
    for time in &mut times {
        let answered = client.get(&address, "/runs", Duration::from_secs(5)).await;
        *time = (answered.is_ok(), asked.swap(0, Ordering::SeqCst));
    }
    times
}

#[tokio::test]
async fn every_token_that_is_found_is_shown_and_the_right_one_is_kept() {
    assert_eq!(let_in("wl_stale").await, [(true, 1), (true, 1)]);
    assert_eq!(let_in("wl_newer").await, [(true, 2), (true, 1)]);
    assert_eq!(let_in("wl_of_another_user").await, [(false, 2), (false, 2)]);
}
