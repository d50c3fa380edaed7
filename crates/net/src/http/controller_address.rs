//! Where leaders are, and whom a worker or client lets itself be sent to.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The address of a controller: `http://host:port`, or `https://` where it speaks TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerAddress {
    secure: bool,
    host: String,
    port: u16,
}

/// A text that is no address of a controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no address of a controller: {why}; it looks like http://host:7700")]
pub struct ControllerAddressError {
    text: String,
    why: &'static str,
}

/// The port of a controller whose address names none.
const PORT: u16 = 7700;

impl ControllerAddress {
    /// Whether TLS is spoken there.
    pub const fn is_secure(&self) -> bool {
        self.secure
    }

    /// The host; an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether only this machine reaches it.
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
            Some(("https", _)) => return Err(bad("this windlass was built without TLS")),
            Some(_) => return Err(bad("only http:// and https:// are known")),
            None => (false, text),
        };
        let rest = rest.trim_end_matches('/');
        if rest.contains(['/', '?', '#', '@']) || rest.contains(char::is_whitespace) {
            return Err(bad("it has more than a host and a port"));
        }
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| bad("its port is no number from 1 to 65535"))?)
            }
            _ => (rest, PORT),
        };
        if host.is_empty() || port == 0 {
            return Err(bad("it has no host, or port 0"));
        }
        if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
            return Err(bad("an IPv6 address stands in brackets"));
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

/// Where the controllers of a cluster are: one place or more, with commas between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerAddresses(Vec<ControllerAddress>);

impl ControllerAddresses {
    /// The first.
    pub fn first(&self) -> &ControllerAddress {
        &self.0[0]
    }

    /// All of them.
    pub fn all(&self) -> &[ControllerAddress] {
        &self.0
    }
}

impl From<ControllerAddress> for ControllerAddresses {
    fn from(place: ControllerAddress) -> Self {
        Self(vec![place])
    }
}

impl FromStr for ControllerAddresses {
    type Err = ControllerAddressError;

    fn from_str(text: &str) -> Result<Self, ControllerAddressError> {
        // Of a text there is at least one part.
        Ok(Self(text.split(',').map(str::parse).collect::<Result<_, _>>()?))
    }
}

impl fmt::Display for ControllerAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join(","))
    }
}

/// Whether somebody who was given these places may go where one of them sends it: to another port of a host that it was
/// given, or, if it knows the cluster's controllers by an authority of their own, to any of them; never from TLS to where
/// there is none. Otherwise whoever answers once could have every token and step sent to a host of its own.
pub fn may_redirect(
    given: &[ControllerAddress],
    to: &ControllerAddress,
    knows_peers: bool,
) -> bool {
    let all_secure = given.iter().all(ControllerAddress::is_secure);
    if knows_peers && all_secure && to.secure {
        return true;
    }
    let same = |place: &ControllerAddress| place.host.eq_ignore_ascii_case(&to.host);
    given.iter().any(|place| same(place) && (to.secure || !place.secure))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> String {
        match text.parse::<ControllerAddress>() {
            Ok(place) => place.to_string(),
            Err(error) => error.why.to_owned(),
        }
    }

    #[test]
    fn an_address_is_a_host_and_a_port() {
        assert_eq!(place("http://build.example:7701/"), "http://build.example:7701");
        assert_eq!(place("build.example"), "http://build.example:7700");
        assert_eq!(place("http://[::1]:80"), "http://[::1]:80");
        assert_eq!(place("http://[::1]"), "http://[::1]:7700");
    }

    #[test]
    fn what_is_none_is_told_why() {
        assert_eq!(place("ftp://a"), "only http:// and https:// are known");
        assert_eq!(place("http://a/b"), "it has more than a host and a port");
        assert_eq!(place("http://me:secret@a"), "it has more than a host and a port");
        assert_eq!(place("http://a:x"), "its port is no number from 1 to 65535");
        assert_eq!(place("http://a:99999"), "its port is no number from 1 to 65535");
        assert_eq!(place("http://:1"), "it has no host, or port 0");
        assert_eq!(place("::1"), "an IPv6 address stands in brackets");
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
        assert!(!follows("https://c", false), "anybody has a certificate that browsers believe");
        assert!(follows("https://c", true), "only the cluster has one of its own authority");
        assert!(!follows("http://a:1", true) && !follows("http://c", true));
        let mixed = places(&["https://a", "http://b"]);
        assert!(!may_redirect(&mixed, &places(&["https://c"])[0], true));
        assert!(may_redirect(&mixed, &places(&["https://b"])[0], false), "TLS is no loss");
        assert_eq!(place("https://build.example"), "https://build.example:7700");
    }
}
