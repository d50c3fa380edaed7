//! The mailboxes of one run in Redis.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use windlass_net::http::{ControllerAddress, Dialer, dialer};

use super::address::RedisAddress;
use super::connection::{RedisCommand, RedisConnection};
use super::reply_error::{connection_error, malformed_reply, moved};
use super::resp::RespValue;
use super::scripts;
use crate::mailbox::{
    BindingEpoch, MAILBOX_BYTES_MAX, MAILBOX_MESSAGE_MAX, MAILBOX_MESSAGES_MAX, MailboxAddress,
    MailboxBinding, MailboxError, MailboxFuture, MailboxId, MailboxMessage, Mailboxes,
    RECEIVED_MAX,
};

/// Deadline of a call that does not wait for messages.
const WITHIN: Duration = Duration::from_secs(5);

/// Seconds for which the binding of a run is kept after its leader's last renewal: a CI runner may be queued for hours.
const PLACE_KEPT: &str = "86400";

/// Milliseconds for which a mailbox is kept after its last message: a reader that was silent for so long is gone.
const MESSAGES_KEPT: &str = "600000";

/// Mailboxes in Redis. The connection is opened at the first use, and again after it is lost.
pub struct RedisMailboxes {
    address: RedisAddress,
    dial: Arc<dyn Dialer>,
    /// The prefix of keys.
    stem: String,
    calls: RedisConnectionSlot,
    /// The connection for receiving: a blocking pop would stall other calls.
    pops: Mutex<UncountedPop>,
    pop_connection: RedisConnectionSlot,
}

/// A connection, if it is open, and its address: a node of a cluster may redirect to another node.
struct RedisConnectionSlot(Mutex<(Option<RedisConnection>, ControllerAddress)>);

/// The bytes taken from a mailbox that its count does not reflect yet.
#[derive(Default)]
struct UncountedPop {
    taken: Option<(MailboxId, usize)>,
}

/// Opens the mailboxes of a site at `redis://…` or `rediss://…`.
pub fn open(site: &MailboxAddress) -> Result<Arc<dyn Mailboxes>, MailboxError> {
    let refused = |reason: String| {
        let place = format!("{}:…", site.scheme());
        MailboxError::Refused { place, reason }
    };
    let address: RedisAddress =
        site.url.parse().map_err(|bad: super::RedisAddressError| refused(bad.to_string()))?;
    let dial = dialer(site.ca.as_deref()).map_err(refused)?;
    Ok(Arc::new(RedisMailboxes::new(address, &site.run, dial)))
}

impl RedisMailboxes {
    /// Opens the mailboxes of a run, or of anything else with a name.
    pub fn new(address: RedisAddress, run: &str, dial: Arc<dyn Dialer>) -> Self {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        let is_plain = (1..=100).contains(&run.len()) && run.chars().all(plain);
        // A cluster chooses the node of a key by the text in braces, which ends at the first closing brace.
        let tag = if is_plain {
            run.to_owned()
        } else {
            blake3::hash(run.as_bytes()).to_hex()[..32].to_owned()
        };
        let stem = format!("{}:{{{tag}}}", address.prefix);
        let wire = || RedisConnectionSlot(Mutex::new((None, address.address.clone())));
        let (calls, pop_connection) = (wire(), wire());
        Self { dial, stem, calls, pops: Mutex::default(), pop_connection, address }
    }

    fn key(&self, name: &str) -> Vec<u8> {
        format!("{}:{name}", self.stem).into_bytes()
    }

    fn box_keys(&self, mailbox: MailboxId) -> [Vec<u8>; 2] {
        [self.key(&format!("box:{:x}", mailbox.0)), self.key(&format!("held:{:x}", mailbox.0))]
    }

    /// Sends commands on the open connection, or on a new one.
    async fn request(
        &self,
        wire: &RedisConnectionSlot,
        requests: &[RedisCommand<'_>],
        within: Duration,
    ) -> Result<Vec<RespValue>, MailboxError> {
        let mut wire = wire.0.lock().await;
        let (line, address) = &mut *wire;
        let is_old = line.is_some();
        let mut answer = self.request_on(line, address, requests, within).await;
        if is_old && line.is_none() {
            // An idle connection may have been closed by the server: that is no reason to fail.
            answer = self.request_on(line, address, requests, within).await;
        }
        if let Err(error) = &answer
            && let Some(there) = moved(error).and_then(|there| self.redirect_address(&there))
        {
            (*line, *address) = (None, there);
            answer = self.request_on(line, address, requests, within).await;
        }
        if matches!(answer, Err(MailboxError::Unreachable { .. })) {
            // The node of an earlier redirect may be gone: the configured server knows the current one.
            address.clone_from(&self.address.address);
        }
        answer
    }

    async fn request_on(
        &self,
        line: &mut Option<RedisConnection>,
        address: &ControllerAddress,
        requests: &[RedisCommand<'_>],
        within: Duration,
    ) -> Result<Vec<RespValue>, MailboxError> {
        // The connection is taken out: a call that is dropped in the middle leaves replies that no caller awaits.
        let mut open = match line.take() {
            Some(open) => open,
            None => RedisConnection::open(&self.address, (&self.dial, address)).await?,
        };
        let answer = open.request(&self.address, requests, within).await;
        if !matches!(&answer, Err(MailboxError::Unreachable { .. })) {
            *line = Some(open);
        }
        answer
    }

    /// Reads the address in a redirect: without a host it means the same host, and an IPv6 address has no brackets.
    fn redirect_address(&self, there: &str) -> Option<ControllerAddress> {
        let scheme = if self.address.address.is_secure() { "https" } else { "http" };
        let (host, port) = there.rsplit_once(':')?;
        let host = match host {
            "" => self.address.address.host().to_owned(),
            host if host.contains(':') && !host.starts_with('[') => format!("[{host}]"),
            host => host.to_owned(),
        };
        format!("{scheme}://{host}:{port}").parse().ok()
    }

    /// Runs a script that replies with a word and its data.
    async fn script(
        &self,
        script: &str,
        keys: &[Vec<u8>; 2],
        arguments: &[&[u8]],
    ) -> Result<(String, String), MailboxError> {
        let request = eval(script, keys, arguments);
        let answers = self.request(&self.calls, &[request], WITHIN).await?;
        self.script_reply(&answers[0])
    }

    fn script_reply(&self, answer: &RespValue) -> Result<(String, String), MailboxError> {
        let RespValue::List(parts) = answer else { return Err(malformed_reply(&self.address)) };
        let text = |at: usize| parts.get(at).and_then(RespValue::text);
        text(0).zip(text(1)).ok_or_else(|| malformed_reply(&self.address))
    }

    fn place_keys(&self) -> [Vec<u8>; 2] {
        [self.key("place"), self.key("bound")]
    }

    fn epoch(&self, text: &str) -> Result<BindingEpoch, MailboxError> {
        text.parse().map(BindingEpoch).map_err(|_| malformed_reply(&self.address))
    }

    async fn bind_place(&self, by: String, term: Duration) -> Result<BindingEpoch, MailboxError> {
        let term = millis(term);
        let arguments: [&[u8]; 3] = [by.as_bytes(), term.as_bytes(), PLACE_KEPT.as_bytes()];
        let (word, what) = self.script(scripts::BIND, &self.place_keys(), &arguments).await?;
        match word.as_str() {
            "over" => Err(MailboxError::Finished { final_status: what }),
            "led" => Err(MailboxError::AlreadyLed { by: what }),
            _ => self.epoch(&what),
        }
    }

    async fn renew_binding(&self, epoch: BindingEpoch, term: Duration) -> Result<(), MailboxError> {
        let (epoch, term) = (epoch.0.to_string(), millis(term));
        let arguments: [&[u8]; 3] = [epoch.as_bytes(), term.as_bytes(), PLACE_KEPT.as_bytes()];
        let (word, what) = self.script(scripts::KEEP, &self.place_keys(), &arguments).await?;
        match word.as_str() {
            "kept" => Ok(()),
            "deposed" => Err(MailboxError::Deposed { now: self.epoch(&what)? }),
            _ => {
                let reason = "it was emptied, or restarted without its data".to_owned();
                Err(MailboxError::StateLost { place: self.place(), reason })
            }
        }
    }

    async fn unbind_place(
        &self,
        epoch: BindingEpoch,
        final_status: Option<String>,
    ) -> Result<(), MailboxError> {
        let epoch = epoch.0.to_string();
        let mut arguments = vec![epoch.as_bytes(), PLACE_KEPT.as_bytes()];
        arguments.extend(final_status.as_ref().map(String::as_bytes));
        self.script(scripts::UNBIND, &self.place_keys(), &arguments).await.map(drop)
    }

    async fn read_binding(&self) -> Result<MailboxBinding, MailboxError> {
        let keys = self.place_keys();
        let answers = self.request(&self.calls, &[eval(scripts::LOOK, &keys, &[])], WITHIN).await?;
        let RespValue::List(parts) = &answers[0] else {
            return Err(malformed_reply(&self.address));
        };
        let text = |at: usize| parts.get(at).and_then(RespValue::text);
        let epoch = self.epoch(&text(0).unwrap_or_default())?;
        Ok(MailboxBinding { epoch, by: text(1), final_status: text(2) })
    }

    async fn put(&self, messages: Vec<MailboxMessage>) -> Result<(), MailboxError> {
        if let Some(message) =
            messages.iter().find(|message| message.bytes.len() > MAILBOX_MESSAGE_MAX)
        {
            return Err(MailboxError::TooLarge { bytes: message.bytes.len() });
        }
        let keys: Vec<[Vec<u8>; 2]> =
            messages.iter().map(|message| self.box_keys(message.to)).collect();
        let (most, most_bytes) = (MAILBOX_MESSAGES_MAX.to_string(), MAILBOX_BYTES_MAX.to_string());
        let requests: Vec<RedisCommand<'_>> = messages
            .iter()
            .zip(&keys)
            .map(|(message, keys)| {
                let limits = [most.as_bytes(), most_bytes.as_bytes(), MESSAGES_KEPT.as_bytes()];
                eval(scripts::SEND, keys, &[&[message.bytes.as_slice()], &limits[..]].concat())
            })
            .collect();
        for answer in self.request(&self.calls, &requests, WITHIN).await? {
            if self.script_reply(&answer)?.0 == "full" {
                let reason = "one of the mailboxes has no reader".to_owned();
                return Err(MailboxError::Full { place: self.place(), reason });
            }
        }
        Ok(())
    }

    /// Waits for a message, and takes it and the following ones in one round trip.
    async fn pop(
        &self,
        mailbox: MailboxId,
        within: Duration,
    ) -> Result<Vec<Vec<u8>>, MailboxError> {
        let mut pops = self.pops.lock().await;
        let [list, _] = self.box_keys(mailbox);
        let (seconds, rest) = (seconds(within), (RECEIVED_MAX - 1).to_string());
        let taken = pops.taken.take();
        let counted = taken.map(|(of, bytes)| (self.box_keys(of), bytes.to_string()));
        let mut requests: Vec<RedisCommand<'_>> = Vec::new();
        if let Some(([_, held], bytes)) = &counted {
            requests.push(vec![b"DECRBY".as_slice(), held, bytes.as_bytes()]);
        }
        requests.push(vec![b"BLPOP".as_slice(), &list, seconds.as_bytes()]);
        requests.push(vec![b"LPOP".as_slice(), &list, rest.as_bytes()]);
        let mut answers = self.request(&self.pop_connection, &requests, within + WITHIN).await?;
        let (rest, first) = (answers.pop(), answers.pop());
        let messages = self.messages(first, rest)?;
        let bytes = messages.iter().map(Vec::len).sum::<usize>();
        pops.taken = Some((mailbox, bytes)).filter(|_| bytes > 0);
        Ok(messages)
    }

    fn messages(
        &self,
        first: Option<RespValue>,
        rest: Option<RespValue>,
    ) -> Result<Vec<Vec<u8>>, MailboxError> {
        // The first reply names the list of the message.
        let first = match first {
            Some(RespValue::List(mut pair)) => pair.pop().into_iter().collect(),
            Some(RespValue::Nothing) => Vec::new(),
            _ => return Err(connection_error(&self.address, "it sent a malformed reply")),
        };
        let rest = match rest {
            Some(RespValue::List(messages)) => messages,
            _ => Vec::new(),
        };
        Ok(first.into_iter().chain(rest).filter_map(bytes_of).collect())
    }
}

/// Builds the command that runs a script.
fn bytes_of(value: RespValue) -> Option<Vec<u8>> {
    match value {
        RespValue::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

fn eval<'a>(script: &'a str, keys: &'a [Vec<u8>; 2], arguments: &[&'a [u8]]) -> RedisCommand<'a> {
    let mut request = vec![b"EVAL".as_slice(), script.as_bytes(), b"2", &keys[0], &keys[1]];
    request.extend_from_slice(arguments);
    request
}

fn millis(term: Duration) -> String {
    term.as_millis().max(1).to_string()
}

/// The timeout of a blocking pop; 0 would wait forever.
fn seconds(within: Duration) -> String {
    format!("{:.3}", within.as_secs_f64().max(0.001))
}

impl fmt::Debug for RedisMailboxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisMailboxes({} {})", self.address, self.stem)
    }
}

impl Mailboxes for RedisMailboxes {
    fn place(&self) -> String {
        self.address.to_string()
    }

    fn bind(&self, by: String, term: Duration) -> MailboxFuture<'_, BindingEpoch> {
        Box::pin(self.bind_place(by, term))
    }

    fn renew(&self, epoch: BindingEpoch, term: Duration) -> MailboxFuture<'_, ()> {
        Box::pin(self.renew_binding(epoch, term))
    }

    fn unbind(&self, epoch: BindingEpoch, final_status: Option<String>) -> MailboxFuture<'_, ()> {
        Box::pin(self.unbind_place(epoch, final_status))
    }

    fn binding(&self) -> MailboxFuture<'_, MailboxBinding> {
        Box::pin(self.read_binding())
    }

    fn send(&self, messages: Vec<MailboxMessage>) -> MailboxFuture<'_, ()> {
        Box::pin(self.put(messages))
    }

    fn receive(&self, mailbox: MailboxId, within: Duration) -> MailboxFuture<'_, Vec<Vec<u8>>> {
        Box::pin(self.pop(mailbox, within))
    }
}
