//! Proves which worker sends a request. All workers know the run's secret, and many can read each other's messages.

use serde::{Deserialize, Serialize};
use windlass_core::access::SecretDigest;
use windlass_net::credentials::{WorkerSecret, verify_signature};

use super::envelope::MessageEnvelope;
use super::protocol::MailboxRequest;

/// Distinguishes these signatures from other uses of the same key.
const PURPOSE: &[u8] = b"windlass mailbox question 1";

/// A request with the signature of its worker. The signature covers the envelope: it is valid for one leader, one mailbox and
/// one number. It cannot distinguish a copy from the original; the leader accepts each number of a mailbox once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SignedMailboxRequest<A> {
    ask: A,
    /// The worker's public key, from which its id follows.
    signer: SecretDigest,
    signature: Vec<u8>,
}

impl<'a> SignedMailboxRequest<&'a MailboxRequest> {
    /// Signs a request for an envelope.
    pub fn new(ask: &'a MailboxRequest, envelope: &MessageEnvelope, secret: &WorkerSecret) -> Self {
        let signature = secret.sign(&signed_bytes(ask, envelope));
        Self { ask, signer: secret.digest(), signature }
    }
}

impl SignedMailboxRequest<MailboxRequest> {
    /// Returns the request and the digest of its worker; `None` if that worker did not sign it for this envelope.
    pub fn open(self, envelope: &MessageEnvelope) -> Option<(SecretDigest, MailboxRequest)> {
        let message = signed_bytes(&self.ask, envelope);
        verify_signature(self.signer, &message, &self.signature).then_some((self.signer, self.ask))
    }
}

/// Returns the signed bytes: the leader, the mailbox for the response, the number of the request, and the request.
fn signed_bytes(ask: &MailboxRequest, envelope: &MessageEnvelope) -> Vec<u8> {
    let mut bytes = PURPOSE.to_vec();
    for number in [envelope.epoch.0, envelope.from.0, envelope.to.0, envelope.number] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    postcard::to_extend(ask, bytes).expect("messages are plain data")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::{BindingEpoch, MailboxId};

    const ENVELOPE: MessageEnvelope = MessageEnvelope {
        epoch: BindingEpoch(3),
        from: MailboxId(77),
        to: MailboxId::LEADER,
        number: 9,
    };

    /// Returns how the leader reads a request that another worker has copied.
    fn changed(
        change: impl FnOnce(&mut SignedMailboxRequest<MailboxRequest>, &mut MessageEnvelope),
    ) -> Option<SecretDigest> {
        let secret = WorkerSecret::generate().unwrap();
        let signed = SignedMailboxRequest::new(&MailboxRequest::Hello, &ENVELOPE, &secret);
        let SignedMailboxRequest { ask, signer, signature } = signed;
        let (mut read, mut envelope) =
            (SignedMailboxRequest { ask: ask.clone(), signer, signature }, ENVELOPE);
        change(&mut read, &mut envelope);
        let opened = read.open(&envelope).map(|(signer, _)| signer);
        assert!(opened.is_none_or(|signer| signer == secret.digest()));
        opened
    }

    #[test]
    fn signature_is_valid_for_one_worker_one_leader_and_one_mailbox() {
        assert!(changed(|_, _| {}).is_some());
        assert!(changed(|read, _| read.ask = MailboxRequest::Cancel { kill: true }).is_none());
        let other = WorkerSecret::generate().unwrap();
        assert!(changed(|read, _| read.signer = other.digest()).is_none());
        assert!(changed(|_, envelope| envelope.epoch = BindingEpoch(4)).is_none());
        assert!(changed(|_, envelope| envelope.from = MailboxId(78)).is_none());
        assert!(changed(|_, envelope| envelope.number = 10).is_none());
    }
}
