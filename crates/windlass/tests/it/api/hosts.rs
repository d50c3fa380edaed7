//! Pages in a browser: they can name any address, and read nothing from a controller of another origin.

use windlass_controller::api::AllowedHosts;

use crate::support::in_process_controller::{ControllerSetup, InProcessController};

async fn known_by_its_names() -> InProcessController {
    let address = "127.0.0.1:7700".parse().expect("an address");
    let at = "http://build.example:7700".parse().expect("a place");
    let hosts = AllowedHosts::listening_on(address).with_host("alias").advertised_as(&at);
    InProcessController::with(ControllerSetup { hosts: Some(hosts), ..ControllerSetup::default() })
        .await
}

/// A request with this target and these header lines.
fn ask(method: &str, target: &str, lines: &[&str]) -> Vec<u8> {
    let lines: String = lines.iter().flat_map(|line| [*line, "\r\n"]).collect();
    format!("{method} {target} HTTP/1.1\r\nconnection: close\r\ncontent-length: 0\r\n{lines}\r\n")
        .into_bytes()
}

#[tokio::test]
async fn request_for_another_host_is_refused() {
    let controller = known_by_its_names().await;
    for host in ["127.0.0.1:7700", "localhost", "[::1]:9", "ALIAS:1", "build.example"] {
        let answer = controller.send(&ask("GET", "/runs", &[&format!("host: {host}")])).await;
        assert_eq!(answer.status, 200, "{host}");
    }
    // A host name that an attacker points at this address, and names that only resemble an accepted one.
    let strange = ["evil.example", "evil.example:7700", "10.0.0.1", "localhost.evil.example"];
    for host in strange.into_iter().chain(["localhost@evil.example", "build.example.evil:7700"]) {
        for path in ["/runs", "/healthz", "/nowhere"] {
            let answer = controller.send(&ask("GET", path, &[&format!("host: {host}")])).await;
            assert_eq!(answer.refusal(), (421, "wrong_host"), "{host} {path}");
        }
    }
    let whole = ask("GET", "http://evil.example/runs", &["host: localhost"]);
    assert_eq!(controller.send(&whole).await.refusal(), (421, "wrong_host"));
    let whole = ask("GET", "http://localhost:7700/runs", &["host: localhost:7700"]);
    assert_eq!(controller.send(&whole).await.status, 200);
    let nonsense: [&[&str]; 4] =
        [&[], &["host: localhost", "host: localhost"], &["host: a b"], &["host:"]];
    for lines in nonsense {
        let answer = controller.send(&ask("GET", "/runs", lines)).await;
        assert_eq!(answer.refusal(), (400, "bad_request"), "{lines:?}");
    }
    controller.shut_down().await;
}

#[tokio::test]
async fn request_from_another_origin_is_refused() {
    let controller = known_by_its_names().await;
    let others = ["http://evil.example", "null", "http://localhost:3000", "https://localhost", ""];
    for origin in others {
        let origin = format!("origin: {origin}");
        for (method, path) in [("GET", "/runs"), ("POST", "/runs"), ("OPTIONS", "/runs")] {
            let answer =
                controller.send(&ask(method, path, &["host: localhost:7700", &origin])).await;
            assert_eq!(answer.refusal(), (403, "wrong_origin"), "{method} {origin}");
            assert!(!answer.head.to_lowercase().contains("access-control"), "{}", answer.head);
        }
    }
    for origin in ["http://localhost:7700", "http://build.example:7700"] {
        let origin = format!("origin: {origin}");
        let answer =
            controller.send(&ask("GET", "/runs", &["host: localhost:7700", &origin])).await;
        assert_eq!(answer.status, 200, "{origin}");
    }
    let two = ["host: localhost:7700", "origin: http://localhost:7700", "origin: http://evil"];
    assert_eq!(controller.send(&ask("GET", "/runs", &two)).await.refusal(), (403, "wrong_origin"));
    controller.shut_down().await;
}
