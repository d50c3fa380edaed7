//! Whom a request says that it is for, and which page had a browser send it.
//!
//! A browser sends requests to any address that a page names, a loopback one too. Two headers that a page cannot choose
//! tell those from the controller's own: `host`, since a page that has its own name lead to the controller still goes by
//! that name, and `origin`, which names the page.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::Response;
use windlass_net::http::ControllerAddress;

use super::api_error::ApiError;
use super::router::Api;

/// Characters of a name that are shown to who sent it.
const SHOWN_MAX: usize = 80;

/// The names that a controller is known by.
#[derive(Clone, Debug)]
pub struct AllowedHosts {
    /// In lower case, without ports: whoever forwards a port may choose another.
    names: BTreeSet<String>,
    /// Whether it listens on every address of its machine: it is known by all of them. An address is nobody's name, so no
    /// page can go by it but the controller's.
    any_address: bool,
    /// The origin of its own pages where something in front of it has another name for it.
    advertised: Option<String>,
}

impl AllowedHosts {
    /// What a controller that listens there is known by.
    pub fn listening_on(address: SocketAddr) -> Self {
        let ip = address.ip();
        let mut names = BTreeSet::from([ip.to_string()]);
        if ip.is_loopback() {
            names.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
        }
        Self { names, any_address: ip.is_unspecified(), advertised: None }
    }

    /// The same, by one more name or address.
    #[must_use]
    pub fn with_host(mut self, host: &str) -> Self {
        self.names.insert(normalize_host(host));
        self
    }

    /// The same, by the name that others are told.
    #[must_use]
    pub fn advertised_as(self, place: &ControllerAddress) -> Self {
        let origin = origin_of(&place.to_string());
        Self { advertised: origin, ..self.with_host(place.host()) }
    }

    /// Whether the controller is known so.
    fn has(&self, host: &str) -> bool {
        let host = normalize_host(host);
        self.names.contains(&host) || (self.any_address && host.parse::<IpAddr>().is_ok())
    }

    /// Whether a page of this origin is the controller's own, seen by who calls it `host`.
    fn is_own(&self, origin: &str, host: Option<&Authority>) -> bool {
        let Some(origin) = origin_of(origin) else { return false };
        let here = |scheme| host.and_then(|host| origin_of(&format!("{scheme}://{host}")));
        let own = [here("http"), here("https"), self.advertised.clone()];
        own.into_iter().flatten().any(|own| own == origin)
    }
}

/// Lets through what is for this controller, and comes from no page but its own. RFC 9112: a request of HTTP/1.1 says whom
/// it is for, once.
pub(super) async fn check(
    State(api): State<Arc<Api>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let host = named(&request)?;
    if let Some(hosts) = &api.hosts {
        // A target that is a whole address counts as well as the header beside it.
        for named in host.iter().chain(request.uri().authority()) {
            if named.as_str().contains('@') || !hosts.has(named.host()) {
                return Err(wrong_host(named.as_str()));
            }
        }
        for origin in request.headers().get_all(header::ORIGIN) {
            let own = origin.to_str().is_ok_and(|origin| hosts.is_own(origin, host.as_ref()));
            if !own {
                return Err(wrong_origin(origin));
            }
        }
    }
    Ok(next.run(request).await)
}

/// What the request calls whom it is for; nothing for HTTP/1.0, which knew no hosts.
fn named(request: &Request) -> Result<Option<Authority>, ApiError> {
    let Some(host) = only(request.headers())? else {
        return match request.version() {
            Version::HTTP_09 | Version::HTTP_10 => Ok(None),
            _ => Err(ApiError::bad_request("the request has no `host`")),
        };
    };
    let named = Authority::try_from(host.as_bytes());
    named.map(Some).map_err(|_| ApiError::bad_request("the request's `host` is no host"))
}

fn only(headers: &HeaderMap) -> Result<Option<&HeaderValue>, ApiError> {
    let mut all = headers.get_all(header::HOST).iter();
    let host = all.next();
    match all.next() {
        None => Ok(host),
        Some(_) => Err(ApiError::bad_request("the request has more than one `host`")),
    }
}

fn wrong_host(host: &str) -> ApiError {
    let host: String = host.chars().take(SHOWN_MAX).collect();
    let detail = format!(
        "this controller is not known as {host:?}: ask it by the address that it prints at its start, or start it with --allow-host"
    );
    ApiError::new(StatusCode::MISDIRECTED_REQUEST, "wrong_host", detail)
}

fn wrong_origin(origin: &HeaderValue) -> ApiError {
    let origin = String::from_utf8_lossy(origin.as_bytes());
    let origin: String = origin.chars().take(SHOWN_MAX).collect();
    let detail = format!("a page of {origin:?} had this sent: only the controller's own pages may");
    ApiError::forbidden("wrong_origin", detail)
}

/// A host in the one way that it is compared in: addresses without brackets and as short as they can be written.
fn normalize_host(host: &str) -> String {
    let host = host.trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_string(),
        Err(_) => host.trim_end_matches('.').to_ascii_lowercase(),
    }
}

/// Scheme, host and port of an address, in the one way that they are compared in.
fn origin_of(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority: Authority = rest.parse().ok()?;
    Some(format!(
        "{scheme}://{}:{}",
        normalize_host(authority.host()),
        authority.port_u16().unwrap_or(port)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(listen: &str) -> AllowedHosts {
        AllowedHosts::listening_on(listen.parse().unwrap())
    }

    #[test]
    fn a_loopback_controller_is_known_by_loopback_names() {
        let hosts = hosts("127.0.0.1:7700");
        for good in ["127.0.0.1", "localhost", "LocalHost.", "[::1]", "[0:0::1]"] {
            assert!(hosts.has(good), "{good}");
        }
        for bad in ["evil.example", "10.0.0.1", "localhost.evil.example", "", "127.0.0.1.nip.io"] {
            assert!(!hosts.has(bad), "{bad}");
        }
    }

    #[test]
    fn wildcard_listener_accepts_ip_hosts_and_configured_names() {
        let place: ControllerAddress = "http://build.example:7700".parse().unwrap();
        let hosts = hosts("0.0.0.0:7700").with_host("Alias").advertised_as(&place);
        for good in ["10.1.2.3", "[fe80::1]", "alias", "BUILD.example"] {
            assert!(hosts.has(good), "{good}");
        }
        assert!(!hosts.has("localhost") && !hosts.has("evil.example"));
    }

    #[test]
    fn a_page_is_its_own_if_it_is_at_the_same_host_and_port() {
        let place: ControllerAddress = "http://build.example:80".parse().unwrap();
        let hosts = hosts("127.0.0.1:7700").advertised_as(&place);
        let host: Authority = "localhost:7700".parse().unwrap();
        for good in ["http://localhost:7700", "https://LOCALHOST:7700", "http://build.example"] {
            assert!(hosts.is_own(good, Some(&host)), "{good}");
        }
        let other = ["http://localhost:3000", "http://127.0.0.1:7700", "null", "", "file://"];
        for bad in other.into_iter().chain(["https://build.example", "http://localhost:7700@evil"])
        {
            assert!(!hosts.is_own(bad, Some(&host)), "{bad}");
        }
    }
}
