//! Addresses of controllers, and the redirects that a worker or client follows.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The address of a controller: `http://host:port`, or `https://host:port` with TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerAddress {
    secure: bool,
    host: String,
    port: u16,
}

/// The text is not the address of a controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not the address of a controller: {why}; write it as http://host:7700")]
pub struct ControllerAddressError {
    text: String,
    why: &'static str,
}

/// The default port of a controller.
const PORT: u16 = 7700;

impl ControllerAddress {
    /// Returns whether the address uses TLS.
    pub const fn is_secure(&self) -> bool {
        self.secure
    }

    /// Returns the host; an IPv6 address is in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns whether only processes on this machine can reach the address.
    pub fn is_loopback(&self) -> bool {
        let address = self.host.trim_start_matches('[').trim_end_matches(']');
        self.host == "localhost" || address.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }
}

impl FromStr for ControllerAddress {
    type Err = ControllerAddressError;

    fn from_str(text: &str) -> Result<Self, ControllerAddressError> {
        let bad = |why| ControllerAddressError { text: text.to_owned(), why };
        let (secure, rest) = match text.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) if cfg!(feature = "tls") => (true, rest),
            Some(("https", _)) => return Err(bad("this build of windlass has no TLS")),
            Some(_) => return Err(bad("the scheme must be http:// or https://")),
            None => (false, text),
        };
        let rest = rest.trim_end_matches('/');
        if rest.contains(['/', '?', '#', '@']) || rest.contains(char::is_whitespace) {
            return Err(bad("it must consist of a host and a port only"));
        }
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| bad("the port must be a number from 1 to 65535"))?)
            }
            _ => (rest, PORT),
        };
        if host.is_empty() || port == 0 {
            return Err(bad("the host is missing, or the port is 0"));
        }
        if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
            return Err(bad("an IPv6 address must be in brackets"));
        }
        Ok(Self { secure, host: host.to_owned(), port })
    }
}

impl fmt::Display for ControllerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

/// The addresses of the controllers of a cluster: one, or several separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerAddresses(Vec<ControllerAddress>);

impl ControllerAddresses {
    /// Returns the first address.
    pub fn first(&self) -> &ControllerAddress {
        &self.0[0]
    }

    /// Returns all addresses.
    pub fn all(&self) -> &[ControllerAddress] {
        &self.0
    }
}

impl From<ControllerAddress> for ControllerAddresses {
    fn from(address: ControllerAddress) -> Self {
        Self(vec![address])
    }
}

impl FromStr for ControllerAddresses {
    type Err = ControllerAddressError;

    fn from_str(text: &str) -> Result<Self, ControllerAddressError> {
        // Splitting a text yields at least one part.
        Ok(Self(text.split(',').map(str::parse).collect::<Result<_, _>>()?))
    }
}

impl fmt::Display for ControllerAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join(","))
    }
}

/// Returns whether a client with these addresses may follow a redirect: to another port of a known host, or, if a private CA
/// identifies the controllers of the cluster, to any of them; never from TLS to plain HTTP. Without this rule, a host that
/// answers once could divert every token and step to a host of its own.
pub fn may_redirect(
    given: &[ControllerAddress],
    to: &ControllerAddress,
    knows_peers: bool,
) -> bool {
    let all_secure = given.iter().all(ControllerAddress::is_secure);
    if knows_peers && all_secure && to.secure {
        return true;
    }
    let same = |address: &ControllerAddress| address.host.eq_ignore_ascii_case(&to.host);
    given.iter().any(|address| same(address) && (to.secure || !address.secure))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> String {
        match text.parse::<ControllerAddress>() {
            Ok(address) => address.to_string(),
            Err(error) => error.why.to_owned(),
        }
    }

    #[test]
    fn an_address_is_a_host_and_a_port() {
        assert_eq!(address("http://build.example:7701/"), "http://build.example:7701");
        assert_eq!(address("build.example"), "http://build.example:7700");
        assert_eq!(address("http://[::1]:80"), "http://[::1]:80");
        assert_eq!(address("http://[::1]"), "http://[::1]:7700");
    }

    #[test]
    fn malformed_address_is_refused_with_the_reason() {
        assert_eq!(address("ftp://a"), "the scheme must be http:// or https://");
        assert_eq!(address("http://a/b"), "it must consist of a host and a port only");
        assert_eq!(address("http://me:secret@a"), "it must consist of a host and a port only");
        assert_eq!(address("http://a:x"), "the port must be a number from 1 to 65535");
        assert_eq!(address("http://a:99999"), "the port must be a number from 1 to 65535");
        assert_eq!(address("http://:1"), "the host is missing, or the port is 0");
        assert_eq!(address("::1"), "an IPv6 address must be in brackets");
    }

    #[test]
    fn several_stand_between_commas() {
        let places: ControllerAddresses = "a,http://b:1".parse().unwrap();
        assert_eq!(places.to_string(), "http://a:7700,http://b:1");
        assert_eq!(places.first(), &places.all()[0]);
        "a,,b".parse::<ControllerAddresses>().unwrap_err();
        "".parse::<ControllerAddresses>().unwrap_err();
    }

    fn places(texts: &[&str]) -> Vec<ControllerAddress> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn one_is_sent_to_hosts_that_one_was_given_only() {
        let follows =
            |to: &str| may_redirect(&places(&["http://a:1", "http://b"]), &places(&[to])[0], false);
        assert!(follows("http://A:9"));
        assert!(!follows("http://c:1"));
    }

    #[cfg(feature = "tls")]
    #[test]
    fn with_tls_one_is_sent_to_peers_that_are_known_and_never_to_where_there_is_none() {
        let given = places(&["https://a:1", "https://b"]);
        let follows = |to: &str, knows_peers| may_redirect(&given, &places(&[to])[0], knows_peers);
        assert!(follows("https://a:9", false) && follows("https://a:9", true));
        assert!(!follows("https://c", false), "any host can have a publicly trusted certificate");
        assert!(follows("https://c", true), "only the cluster has certificates of its private CA");
        assert!(!follows("http://a:1", true) && !follows("http://c", true));
        let mixed = places(&["https://a", "http://b"]);
        assert!(!may_redirect(&mixed, &places(&["https://c"])[0], true));
        assert!(
            may_redirect(&mixed, &places(&["https://b"])[0], false),
            "TLS instead of HTTP is safe"
        );
        assert_eq!(address("https://build.example"), "https://build.example:7700");
    }
}
