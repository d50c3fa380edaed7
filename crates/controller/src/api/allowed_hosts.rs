//! The check of the headers `host` and `origin`, against requests of foreign web pages.
//!
//! A browser sends requests to any address that a page names, also to a loopback address. A page cannot choose two headers:
//! `host` still has the name of the page if that name resolves to the controller's address, and `origin` names the page.

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
use super::api_state::Api;

/// The most characters of a name that a refusal repeats.
const SHOWN_MAX: usize = 80;

/// The names by which clients may address a controller.
#[derive(Clone, Debug)]
pub struct AllowedHosts {
    /// In lower case, without ports: a forwarded port may have another number.
    names: BTreeSet<String>,
    /// Whether the controller listens on every address of its machine, so that any address is allowed. No foreign page can
    /// be served under an address of this machine.
    any_address: bool,
    /// The origin of its own pages behind a proxy with another name.
    advertised: Option<String>,
}

impl AllowedHosts {
    /// The names of a controller that listens on this address.
    pub fn listening_on(address: SocketAddr) -> Self {
        let ip = address.ip();
        let mut names = BTreeSet::from([ip.to_string()]);
        if ip.is_loopback() {
            names.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
        }
        Self { names, any_address: ip.is_unspecified(), advertised: None }
    }

    /// Adds a name or an address.
    #[must_use]
    pub fn with_host(mut self, host: &str) -> Self {
        self.names.insert(normalize_host(host));
        self
    }

    /// Adds the advertised address.
    #[must_use]
    pub fn advertised_as(self, address: &ControllerAddress) -> Self {
        let origin = origin_of(&address.to_string());
        Self { advertised: origin, ..self.with_host(address.host()) }
    }

    /// Whether this is a name of the controller.
    fn has(&self, host: &str) -> bool {
        let host = normalize_host(host);
        self.names.contains(&host) || (self.any_address && host.parse::<IpAddr>().is_ok())
    }

    /// Whether a page of this origin is the controller's own, in a request for `host`.
    fn is_own(&self, origin: &str, host: Option<&Authority>) -> bool {
        let Some(origin) = origin_of(origin) else { return false };
        let here = |scheme| host.and_then(|host| origin_of(&format!("{scheme}://{host}")));
        let own = [here("http"), here("https"), self.advertised.clone()];
        own.into_iter().flatten().any(|own| own == origin)
    }
}

/// Passes requests for this controller that do not come from a foreign page. RFC 9112: a request of HTTP/1.1 has one
/// `host`.
pub(super) async fn check(
    State(api): State<Arc<Api>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let host = named(&request)?;
    if let Some(hosts) = &api.hosts {
        // If the target is a complete URL, its host must be allowed too.
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

/// The host that the request names; `None` for HTTP/1.0, which has no such header.
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

/// The canonical form of a host: lower case, addresses without brackets and in their shortest form.
fn normalize_host(host: &str) -> String {
    let host = host.trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_string(),
        Err(_) => host.trim_end_matches('.').to_ascii_lowercase(),
    }
}

/// The canonical form of scheme, host and port of an address.
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
    fn loopback_controller_accepts_loopback_names() {
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
        let address: ControllerAddress = "http://build.example:7700".parse().unwrap();
        let hosts = hosts("0.0.0.0:7700").with_host("Alias").advertised_as(&address);
        for good in ["10.1.2.3", "[fe80::1]", "alias", "BUILD.example"] {
            assert!(hosts.has(good), "{good}");
        }
        assert!(!hosts.has("localhost") && !hosts.has("evil.example"));
    }

    #[test]
    fn own_page_has_the_same_host_and_port() {
        let address: ControllerAddress = "http://build.example:80".parse().unwrap();
        let hosts = hosts("127.0.0.1:7700").advertised_as(&address);
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
