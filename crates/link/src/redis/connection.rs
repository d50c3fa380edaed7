//! One connection to Redis: requests are sent together, and their replies arrive in order.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use windlass_net::http::{ConnectionStream, ControllerAddress, Dialer};

use super::address::RedisAddress;
use super::reply_error::{connection_error, error_of, malformed_reply, refused_error};
use super::resp::{self, RespValue};
use crate::mailbox::MailboxError;

/// Deadline for connecting and authenticating.
const CONNECTS_WITHIN: Duration = Duration::from_secs(5);

/// The oldest supported version of Redis.
const VERSION: (u32, u32) = (6, 2);

/// Size of a read.
const CHUNK: usize = 64 << 10;

/// A command with its arguments.
pub(super) type RedisCommand<'a> = Vec<&'a [u8]>;

/// A connection.
pub(super) struct RedisConnection {
    stream: Box<dyn ConnectionStream>,
    /// Received bytes that have not been parsed.
    unread: Vec<u8>,
}

impl RedisConnection {
    /// Connects, authenticates, and checks that the server is suitable.
    pub(super) async fn open(
        address: &RedisAddress,
        (dial, at): (&Arc<dyn Dialer>, &ControllerAddress),
    ) -> Result<Self, MailboxError> {
        let connected = timeout(CONNECTS_WITHIN, dial.dial(at)).await;
        let stream = match connected {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(connection_error(address, &error.to_string())),
            Err(_) => return Err(connection_error(address, "it does not accept connections")),
        };
        let mut line = Self { stream, unread: Vec::new() };
        line.handshake(address).await?;
        Ok(line)
    }

    async fn handshake(&mut self, address: &RedisAddress) -> Result<(), MailboxError> {
        if let Some(password) = &address.password {
            let user = address.user.as_deref().unwrap_or("default");
            let shown = vec![b"AUTH".as_slice(), user.as_bytes(), password.as_bytes()];
            self.request(address, &[shown], CONNECTS_WITHIN).await?;
        }
        let database = address.database.to_string();
        if address.database > 0 {
            let select = vec![b"SELECT".as_slice(), database.as_bytes()];
            self.request(address, &[select], CONNECTS_WITHIN).await?;
        }
        let info = self.request(address, &[vec![b"INFO".as_slice()]], CONNECTS_WITHIN).await;
        match info {
            Ok(info) => check(address, &info[0].text().unwrap_or_default()),
            // A user without the permission for INFO cannot check; other errors appear when they matter.
            Err(MailboxError::Refused { reason, .. }) if reason.contains("NOPERM") => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Sends commands together and returns a reply for each. If one of the replies is an error, that error is returned. After any
    /// other error the connection must not be used again.
    pub(super) async fn request(
        &mut self,
        address: &RedisAddress,
        requests: &[RedisCommand<'_>],
        within: Duration,
    ) -> Result<Vec<RespValue>, MailboxError> {
        let answer = timeout(within, self.exchange(address, requests)).await;
        let values = answer.unwrap_or_else(|_| {
            Err(connection_error(address, &format!("no response for {} s", within.as_secs_f32())))
        })?;
        match values.iter().find_map(|value| error_of(address, value)) {
            Some(error) => Err(error),
            None => Ok(values),
        }
    }

    async fn exchange(
        &mut self,
        address: &RedisAddress,
        requests: &[RedisCommand<'_>],
    ) -> Result<Vec<RespValue>, MailboxError> {
        let mut out = Vec::new();
        for request in requests {
            resp::write(&mut out, request);
        }
        let written = self.stream.write_all(&out).await;
        written.map_err(|error| connection_error(address, &error.to_string()))?;
        let flushed = self.stream.flush().await;
        flushed.map_err(|error| connection_error(address, &error.to_string()))?;
        let mut values = Vec::with_capacity(requests.len());
        while values.len() < requests.len() {
            values.push(self.read(address).await?);
        }
        Ok(values)
    }

    async fn read(&mut self, address: &RedisAddress) -> Result<RespValue, MailboxError> {
        loop {
            match resp::read(&self.unread) {
                Ok(Some((value, read))) => {
                    self.unread.drain(..read);
                    return Ok(value);
                }
                Ok(None) => self.unread.reserve(CHUNK),
                Err(_) => return Err(malformed_reply(address)),
            }
            match self.stream.read_buf(&mut self.unread).await {
                Ok(0) => return Err(connection_error(address, "it closed the connection")),
                Ok(_) => {}
                Err(error) => return Err(connection_error(address, &error.to_string())),
            }
        }
    }
}

/// Checks from its INFO that the server is suitable.
fn check(address: &RedisAddress, info: &str) -> Result<(), MailboxError> {
    let said = |name: &str| {
        let of = |line: &'_ str| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned);
        info.lines().find_map(of).unwrap_or_default()
    };
    let version = said("redis_version");
    let mut parts = version.split('.').filter_map(|part| part.parse().ok());
    let found: Option<(u32, u32)> = parts.next().zip(parts.next());
    if found.is_some_and(|found| found < VERSION) {
        return Err(refused_error(
            address,
            &format!("it is Redis {version}, but 6.2 or newer is needed"),
        ));
    }
    if said("role") == "slave" {
        let why = "it is a read-only replica: use the address of its primary";
        return Err(refused_error(address, why));
    }
    let (policy, most) = (said("maxmemory_policy"), said("maxmemory"));
    let evicts = !policy.is_empty() && policy != "noeviction" && most != "0";
    if evicts {
        let why = format!(
            "it forgets keys when its memory is full (maxmemory-policy {policy}), messages and the leader among them: \
             set it to noeviction, or use another Redis"
        );
        return Err(refused_error(address, &why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(info: &str) -> String {
        let address = "redis://here".parse().unwrap();
        check(&address, info).map_or_else(|error| error.to_string(), |()| "suitable".to_owned())
    }

    #[test]
    fn redis_that_would_evict_messages_is_refused_with_the_reason() {
        let good =
            "redis_version:7.0.15\r\nrole:master\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n";
        assert_eq!(checked(good), "suitable");
        assert_eq!(checked(&good.replace("noeviction", "allkeys-lru")), "suitable");
        let evicts = good.replace("noeviction", "allkeys-lru").replace("y:0", "y:1000");
        assert!(checked(&evicts).contains("maxmemory-policy allkeys-lru"), "{}", checked(&evicts));
        assert!(checked(&good.replace("7.0", "6.0")).contains("6.2 or newer is needed"));
        assert!(checked(&good.replace("master", "slave")).contains("replica"));
        assert_eq!(checked(""), "suitable", "a server that reveals nothing is tried");
    }
}
