//! The address of a Redis server.

use std::fmt;
use std::str::FromStr;

use windlass_net::http::ControllerAddress;
use windlass_net::percent_encoding::percent_decode;

/// The default port of Redis.
const PORT: u16 = 6379;

/// The default prefix of keys.
const PREFIX: &str = "windlass";

/// The address of a Redis: `redis://[[USER]:PASSWORD@]HOST[:PORT][/DB][?prefix=WORD]`, or `rediss://` with TLS.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisAddress {
    pub(super) address: ControllerAddress,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) database: u32,
    pub(super) prefix: String,
}

/// The text is not the address of a Redis server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not the address of a Redis server: {0}; write it as redis://:password@host:6379/0"
)]
pub struct RedisAddressError(String);

impl FromStr for RedisAddress {
    type Err = RedisAddressError;

    fn from_str(text: &str) -> Result<Self, RedisAddressError> {
        let bad = |why: &str| RedisAddressError(why.to_owned());
        let (scheme, rest) = match text.split_once("://") {
            Some(("redis", rest)) => ("http", rest),
            Some(("rediss", rest)) => ("https", rest),
            _ => return Err(bad("it must begin with redis:// or rediss://")),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (who, rest) = rest.rsplit_once('@').map_or((None, rest), |(who, it)| (Some(who), it));
        let (host, database) = rest.split_once('/').unwrap_or((rest, ""));
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let port = if has_port { String::new() } else { format!(":{PORT}") };
        let address: ControllerAddress =
            format!("{scheme}://{host}{port}").parse().map_err(|_| {
                bad("the host or the port is invalid, or this build of windlass has no TLS")
            })?;
        let (user, password) = match who.map(|who| who.split_once(':').unwrap_or((who, ""))) {
            Some((user, password)) => (non_empty(user), non_empty(password)),
            None => (None, None),
        };
        let database = match database.trim_end_matches('/') {
            "" => 0,
            number => number.parse().map_err(|_| bad("the database must be a number"))?,
        };
        Ok(Self { address, user, password, database, prefix: prefix(query)? })
    }
}

/// Reads the prefix from the query. Any other option is refused, because it would have no effect.
fn prefix(query: &str) -> Result<String, RedisAddressError> {
    let Some(pair) = Some(query).filter(|query| !query.is_empty()) else {
        return Ok(PREFIX.to_owned());
    };
    let word = pair.strip_prefix("prefix=").filter(|word| !word.is_empty());
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-:".contains(c);
    match word.filter(|word| word.chars().all(plain)) {
        Some(word) => Ok(word.to_owned()),
        None => Err(RedisAddressError(format!("`?{query}` is not ?prefix=WORD, the only option"))),
    }
}

/// Decodes a part of the address; an empty part is none.
fn non_empty(text: &str) -> Option<String> {
    Some(percent_decode(text)).filter(|text| !text.is_empty())
}

/// Shows the address without user and password.
impl fmt::Display for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.address.is_secure() { "rediss" } else { "redis" };
        write!(f, "{scheme}://{}:{}", self.address.host(), self.address.port())?;
        if self.database > 0 { write!(f, "/{}", self.database) } else { Ok(()) }
    }
}

impl fmt::Debug for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> RedisAddress {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_is_read_and_shown_without_its_password() {
        let full = read("redis://ann:p%40ss%2F:w@redis.example:6380/3?prefix=ci");
        assert_eq!(full.user.as_deref(), Some("ann"));
        assert_eq!(full.password.as_deref(), Some("p@ss/:w"));
        assert_eq!((full.database, full.prefix.as_str()), (3, "ci"));
        assert_eq!(
            format!("{full} {full:?}"),
            "redis://redis.example:6380/3 RedisAddress(redis://redis.example:6380/3)"
        );
        let short = read("redis://localhost");
        assert_eq!((short.to_string().as_str(), short.password), ("redis://localhost:6379", None));
        assert_eq!(read("redis://:secret@[::1]").to_string(), "redis://[::1]:6379");
    }

    #[test]
    fn malformed_address_is_refused_with_the_reason() {
        for text in [
            "http://a",
            "redis://",
            "redis://a:x",
            "redis://a/b",
            "redis://a?db=1",
            "redis://a?prefix=",
            "redis://a?prefix={b}",
        ] {
            let refused = text.parse::<RedisAddress>().unwrap_err().to_string();
            assert!(refused.contains("write it as redis://"), "{text}: {refused}");
        }
    }
}
