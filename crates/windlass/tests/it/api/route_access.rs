//! Every route with every kind of credential: the table of routes decides which ones are accepted.

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use windlass::core::access::AccessScope;
use windlass_controller::api::{RouteAccess, RouteDescription, route_descriptions};

use super::access::{CredentialedWorker, expired, made};
use crate::support::http_client::{HttpAnswer, HttpRequest};
use crate::support::in_process_controller::{ControllerSetup, InProcessController, TOKEN};

/// A client with its credentials.
struct RouteClient {
    name: String,
    token: Option<String>,
    /// The scope of its token, if the token is valid.
    scopes: Vec<AccessScope>,
    /// The problem code for credentials that are not valid.
    refused: &'static str,
}

impl RouteClient {
    fn refused(name: &str, token: Option<&str>, refused: &'static str) -> Self {
        Self { name: name.to_owned(), token: token.map(str::to_owned), scopes: vec![], refused }
    }

    async fn all_clients(controller: &InProcessController) -> Vec<Self> {
        let revoked = made(controller, "revoked", &["admin"]).await;
        let revoke = controller.post("/tokens/revoked/revoke", &json!({})).await;
        assert_eq!(revoke.status, 200, "{revoke:?}");
        let expired = expired(controller, "expired", &["admin"]).await;
        let mut all = vec![
            Self::refused("nobody", None, "no_token"),
            Self::refused("garbage", Some("wl_garbage"), "wrong_token"),
            Self::refused("revoked", Some(&revoked), "revoked_token"),
            Self::refused("expired", Some(&expired), "expired_token"),
            Self { scopes: vec![AccessScope::Admin], ..Self::refused("file", Some(TOKEN), "") },
        ];
        for scope in AccessScope::ALL {
            let name = scope.to_string();
            let token = made(controller, &name, &[&name]).await;
            all.push(Self { scopes: vec![scope], ..Self::refused(&name, Some(&token), "") });
        }
        let both = made(controller, "both", &["read", "worker"]).await;
        let scopes = vec![AccessScope::Read, AccessScope::Worker];
        all.push(Self { scopes, ..Self::refused("read and worker", Some(&both), "") });
        all
    }

    /// The refusal of a route that requires a scope; `None` if the client has it.
    fn verdict(&self, needed: AccessScope) -> Option<(u16, &'static str)> {
        if !self.refused.is_empty() {
            return Some((401, self.refused));
        }
        let may = self.scopes.iter().any(|scope| scope.allows(needed));
        (!may).then_some((403, "wrong_scope"))
    }
}

/// The refusals of the authorization check, which runs before the handler.
const OF_ACCESS: [&str; 7] = [
    "no_token",
    "wrong_token",
    "expired_token",
    "revoked_token",
    "wrong_scope",
    "revoked_worker",
    "no_worker_secret",
];

/// Sends the request and returns the refusal, if there is one. Does not wait for the events of a stream.
async fn ask(
    controller: &InProcessController,
    route: &RouteDescription,
    (token, secret): (Option<&str>, Option<&str>),
    id: &str,
) -> Option<(u16, String)> {
    let path = route.path.replace("{id}", id).replace("{name}", "none").replace("{run}", "none");
    let path = path.replace("{step}", "0").replace("{attempt}", "1").replace("{delivery}", "1");
    assert!(!path.contains('{'), "{path}: say here what stands for this parameter");
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers: Vec<(&str, &str)> = Vec::new();
    headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    headers.extend(secret.map(|secret| ("windlass-worker", secret)));
    let ask = HttpRequest { method: route.method, path: &path, headers, body: b"{}".to_vec() };
    let mut stream = controller.connect().await;
    stream.write_all(&ask.bytes()).await.expect("it reads");
    let mut bytes = Vec::new();
    loop {
        let read = stream.read_buf(&mut bytes).await.unwrap_or(0);
        let answer = HttpAnswer::read(&bytes);
        let accepted = answer.status > 0 && answer.status < 400;
        if read == 0 || accepted {
            let (status, code) = answer.refusal();
            assert_ne!(status, 0, "{} {path} was answered", route.method);
            assert!(status != 405, "{} {path} is what is served there", route.method);
            return OF_ACCESS.contains(&code).then(|| (status, code.to_owned()));
        }
    }
}

#[tokio::test]
async fn every_route_admits_exactly_the_documented_scopes() {
    let controller = InProcessController::with(ControllerSetup {
        token: Some(TOKEN),
        ..ControllerSetup::default()
    })
    .await;
    let everybody = RouteClient::all_clients(&controller).await;
    let stranger = "5a".repeat(32);
    let mut asked = 0;
    for route in route_descriptions() {
        for asker in &everybody {
            let token = asker.token.as_deref();
            let (secret, expected) = match route.needs {
                RouteAccess::Nothing => (None, None),
                RouteAccess::Scope(scope) | RouteAccess::WorkerOrScope(scope) => {
                    (None, asker.verdict(scope))
                }
                // A secret that was never enrolled adds nothing to the token beside it.
                RouteAccess::WorkerSecret => (Some(&*stranger), asker.verdict(AccessScope::Worker)),
            };
            let expected = expected.map(|(status, code)| (status, code.to_owned()));
            let got = ask(&controller, &route, (token, secret), "0").await;
            // A worker that may join has to identify itself.
            let got = got.filter(|(_, code)| {
                !(code == "no_worker_secret"
                    && route.needs == RouteAccess::Scope(AccessScope::Worker))
            });
            assert_eq!(got, expected, "{} {} by {}", route.method, route.path, asker.name);
            asked += 1;
        }
    }
    assert_eq!(asked, route_descriptions().len() * everybody.len());
    controller.shut_down().await;
}

#[tokio::test]
async fn secret_of_a_worker_opens_its_routes_and_no_others() {
    let controller = InProcessController::with(ControllerSetup {
        token: Some(TOKEN),
        ..ControllerSetup::default()
    })
    .await;
    let (own, other) = (
        CredentialedWorker::join(&controller, "own").await,
        CredentialedWorker::join(&controller, "other").await,
    );
    let gone = CredentialedWorker::join(&controller, "gone").await;
    let revoke = controller.post("/workers/gone/revoke", &json!({})).await;
    assert_eq!(revoke.status, 200, "{revoke:?}");
    for route in route_descriptions() {
        let at = (route.method, route.path);
        let code =
            |got: Option<(u16, String)>| got.map(|(status, code)| format!("{status} {code}"));
        let by = |secret: Option<&'static str>| (None, secret);
        let own_secret: &'static str = own.secret.clone().leak();
        let gone_secret: &'static str = gone.secret.clone().leak();
        let shown = code(ask(&controller, &route, by(Some(own_secret)), &own.id).await);
        let revoked = code(ask(&controller, &route, by(Some(gone_secret)), &gone.id).await);
        match route.needs {
            RouteAccess::Nothing => assert_eq!((shown, revoked), (None, None), "{at:?}"),
            RouteAccess::WorkerSecret
            | RouteAccess::WorkerOrScope(_)
            | RouteAccess::Scope(AccessScope::Worker) => {
                assert_eq!(shown, None, "{at:?}");
                assert_eq!(revoked.as_deref(), Some("401 revoked_worker"), "{at:?}");
            }
            RouteAccess::Scope(_) => {
                assert_eq!(shown.as_deref(), Some("401 no_token"), "{at:?}");
                assert_eq!(revoked.as_deref(), Some("401 no_token"), "{at:?}");
            }
        }
        if route.needs == RouteAccess::WorkerSecret {
            let none = code(ask(&controller, &route, by(None), &own.id).await);
            assert_eq!(none.as_deref(), Some("401 no_worker_secret"), "{at:?}");
        }
        if route.needs == RouteAccess::WorkerSecret && route.path.starts_with("/workers/{id}/") {
            let path = route.path.replace("{id}", &other.id);
            let answer = own.tell(&controller, &path, json!({})).await;
            // The identity is checked before the body.
            assert!(
                matches!(answer.refusal(), (403, "other_worker") | (400, "bad_request")),
                "{answer:?}"
            );
        }
    }
    controller.shut_down().await;
}
