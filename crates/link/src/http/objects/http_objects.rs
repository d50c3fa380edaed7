//! The object store of a client over HTTP.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use hyper::Method;
use hyper::body::Bytes;
use windlass_core::object::ObjectId;
use windlass_net::http::{ControllerAddress, HttpClient, HttpResponse};
use windlass_store::db::StoreError;
use windlass_store::objects::{
    BATCH_BYTES_MAX, BLOCK, ObjectError, ObjectFuture, ObjectPart, ObjectStore, check_batch,
    check_count, is_new_piece,
};

use super::frames::{decode_ids, decode_objects, encode_ids, encode_objects};
use super::object_caller::{ObjectCallDeadline, ObjectCaller, ObjectRequest};
use crate::http::bodies::UploadSizeBody;
use crate::http::wire::PIECE_HEADER;

/// The objects of a cluster, reached through its controllers.
#[derive(Debug)]
pub struct HttpObjects {
    caller: ObjectCaller,
}

impl HttpObjects {
    /// The objects of the cluster with controllers at these addresses. Requests leave with the credentials of this client,
    /// and on connections of their own.
    ///
    /// # Panics
    /// If `given` is empty.
    pub fn new(client: &HttpClient, given: Vec<ControllerAddress>) -> Self {
        Self { caller: ObjectCaller::new(client, given) }
    }

    /// Sets how long a call is repeated while no controller answers it (default: 2 minutes).
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { caller: self.caller.with_patience(patience) }
    }

    async fn ask_missing(
        &self,
        deadline: &mut ObjectCallDeadline,
        ids: &[ObjectId],
    ) -> Result<Vec<ObjectId>, ObjectError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let body = encode_ids(ids);
        let answered = self.post(deadline, "/objects/missing", body).await?;
        decode_ids(&answered.body).map_err(|error| self.malformed(&error.to_string()))
    }

    /// Sends bytes with their hash until there is an answer.
    async fn post(
        &self,
        deadline: &mut ObjectCallDeadline,
        path: &str,
        body: Vec<u8>,
    ) -> Result<HttpResponse, ObjectError> {
        let hash = ObjectId::of(&body).to_string();
        let headers = [(PIECE_HEADER, &*hash)];
        let (method, body) = (Method::POST, Bytes::from(body));
        let request = ObjectRequest { method, path, body, headers: &headers };
        self.caller.send(deadline, &request).await
    }

    /// Sends bytes with their hash once; `None` if that failed for a passing reason.
    async fn post_once(
        &self,
        deadline: &mut ObjectCallDeadline,
        path: &str,
        body: &Bytes,
    ) -> Result<Option<HttpResponse>, ObjectError> {
        let hash = ObjectId::of(body).to_string();
        let headers = [(PIECE_HEADER, &*hash)];
        let (method, body) = (Method::POST, body.clone());
        let request = ObjectRequest { method, path, body, headers: &headers };
        self.caller.send_once(deadline, &request).await
    }

    /// Sends a batch. After a failure it sends only what is still missing.
    async fn send_batch(&self, objects: Vec<(ObjectId, Vec<u8>)>) -> Result<(), ObjectError> {
        check_batch(&objects)?;
        let ids: Vec<ObjectId> = objects.iter().map(|(id, _)| *id).collect();
        let mut body = Bytes::from(encode_objects(objects));
        let mut deadline = self.caller.begin(body.len());
        while self.post_once(&mut deadline, "/objects/batch", &body).await?.is_none() {
            let missing = self.ask_missing(&mut deadline, &ids).await?;
            if missing.is_empty() {
                return Ok(());
            }
            let missing: BTreeSet<ObjectId> = missing.into_iter().collect();
            let mut objects = decode_objects(&body).expect("it was encoded here");
            objects.retain(|(id, _)| missing.contains(id));
            body = Bytes::from(encode_objects(objects));
        }
        Ok(())
    }

    /// Fetches a batch. Bytes that are not those of their ids were changed on the way: they are fetched again.
    async fn fetch_batch(&self, ids: Vec<ObjectId>) -> Result<Vec<Vec<u8>>, ObjectError> {
        check_count(ids.len())?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut deadline = self.caller.begin(BATCH_BYTES_MAX);
        loop {
            let answered = self.post(&mut deadline, "/objects/fetch", encode_ids(&ids)).await?;
            match verified(&answered.body, &ids) {
                Ok(objects) => return Ok(objects),
                Err(reason) => self.caller.pause(&mut deadline, reason).await?,
            }
        }
    }

    async fn upload_size(
        &self,
        deadline: &mut ObjectCallDeadline,
        id: ObjectId,
    ) -> Result<u64, ObjectError> {
        let path = format!("/objects/{id}/upload");
        let request = get(&path, &[]);
        let answered = self.caller.send(deadline, &request).await?;
        self.size_of(&answered)
    }

    /// Continues an upload. After a failure it sends only the blocks that are not there.
    async fn send_piece(&self, id: ObjectId, at: u64, bytes: Vec<u8>) -> Result<u64, ObjectError> {
        is_new_piece(id, at, at, &bytes)?;
        let (mut from, mut bytes) = (at, Bytes::from(bytes));
        let end = at + bytes.len() as u64;
        let mut deadline = self.caller.begin(bytes.len());
        loop {
            let path = format!("/objects/{id}/upload?at={from}");
            if let Some(answered) = self.post_once(&mut deadline, &path, &bytes).await? {
                return self.size_of(&answered);
            }
            let size = self.upload_size(&mut deadline, id).await?;
            if size >= end {
                return Ok(size);
            }
            // Another sender may have removed it: the caller goes back.
            let verified =
                size.checked_sub(from).and_then(|verified| usize::try_from(verified).ok());
            let Some(verified) = verified else {
                return Err(ObjectError::Offset { id, at: from, expected: size });
            };
            (from, bytes) = (size, bytes.slice(verified..));
        }
    }

    async fn finish_upload(&self, id: ObjectId, size: u64) -> Result<(), ObjectError> {
        let mut deadline = self.caller.begin(0);
        let path = format!("/objects/{id}/finish?size={size}");
        self.post(&mut deadline, &path, Vec::new()).await.map(drop)
    }

    /// Reads to the end of the range or of the block in which it begins. HTTP has no empty ranges: of one that is empty, the
    /// first byte is read, for the size of the object.
    async fn read_range(&self, id: ObjectId, range: Range<u64>) -> Result<ObjectPart, ObjectError> {
        let start = range.start;
        let block_end = (start / BLOCK as u64).saturating_add(1).saturating_mul(BLOCK as u64);
        let last = range.end.min(block_end).saturating_sub(1).max(start);
        let (path, bytes) = (format!("/objects/{id}"), format!("bytes={start}-{last}"));
        let headers = [("range", &*bytes)];
        let request = get(&path, &headers);
        let mut deadline = self.caller.begin(BLOCK);
        loop {
            let answered = match self.caller.send(&mut deadline, &request).await {
                // The range begins after the end.
                Err(ObjectError::Offset { expected: size, .. }) => {
                    return Ok(ObjectPart { bytes: Vec::new(), size });
                }
                answered => answered?,
            };
            match part_of(&answered, start) {
                Ok(part) if range.is_empty() => {
                    return Ok(ObjectPart { bytes: Vec::new(), ..part });
                }
                Ok(part) => return Ok(part),
                Err(reason) => self.caller.pause(&mut deadline, reason).await?,
            }
        }
    }

    fn size_of(&self, answered: &HttpResponse) -> Result<u64, ObjectError> {
        let body: Result<UploadSizeBody, _> = serde_json::from_slice(&answered.body);
        body.map(|body| body.size).map_err(|error| self.malformed(&error.to_string()))
    }

    fn malformed(&self, what: &str) -> ObjectError {
        let place = self.caller.address().to_string();
        let reason =
            format!("it gave an invalid answer: {what}; use the same release on both sides");
        StoreError::Unavailable { place, reason }.into()
    }
}

const fn get<'a>(path: &'a str, headers: &'a [(&'a str, &'a str)]) -> ObjectRequest<'a> {
    ObjectRequest { method: Method::GET, path, body: Bytes::new(), headers }
}

/// The objects of an answer, if they are the first of those that were asked for.
fn verified(body: &[u8], ids: &[ObjectId]) -> Result<Vec<Vec<u8>>, String> {
    let objects = decode_objects(body).map_err(|error| format!("a malformed answer: {error}"))?;
    let is_asked = !objects.is_empty()
        && objects.len() <= ids.len()
        && objects
            .iter()
            .zip(ids)
            .all(|((id, bytes), asked)| id == asked && ObjectId::of(bytes) == *asked);
    if !is_asked {
        return Err("the connection changed the bytes of an answer".to_owned());
    }
    Ok(objects.into_iter().map(|(_, bytes)| bytes).collect())
}

/// The part in an answer, if it begins at this offset and has the announced hash.
fn part_of(answered: &HttpResponse, start: u64) -> Result<ObjectPart, String> {
    let header = |name| answered.headers.get(name).and_then(|value| value.to_str().ok());
    let range = header("content-range").and_then(|range| range.strip_prefix("bytes "));
    let placed = range.and_then(|range| range.split_once('/'));
    let place = placed.and_then(|(place, size)| Some((place.split_once('-')?.0, size)));
    let read = place.and_then(|(first, size)| Some((first.parse().ok()?, size.parse().ok()?)));
    let Some((first, size)): Option<(u64, u64)> = read else {
        return Err("an answer without the place of its bytes".to_owned());
    };
    if first != start {
        return Err("an answer with another range than was asked for".to_owned());
    }
    let hash = ObjectId::of(&answered.body).to_string();
    if header(PIECE_HEADER) != Some(&*hash) {
        return Err("the connection changed the bytes of an answer".to_owned());
    }
    Ok(ObjectPart { bytes: answered.body.to_vec(), size })
}

impl ObjectStore for HttpObjects {
    fn missing(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<ObjectId>> {
        Box::pin(async move {
            check_count(ids.len())?;
            self.ask_missing(&mut self.caller.begin(0), &ids).await
        })
    }

    fn put_batch(&self, objects: Vec<(ObjectId, Vec<u8>)>) -> ObjectFuture<'_, ()> {
        Box::pin(self.send_batch(objects))
    }

    fn get_batch(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<Vec<u8>>> {
        Box::pin(self.fetch_batch(ids))
    }

    fn uploaded(&self, id: ObjectId) -> ObjectFuture<'_, u64> {
        Box::pin(async move { self.upload_size(&mut self.caller.begin(0), id).await })
    }

    fn append(&self, id: ObjectId, at: u64, bytes: Vec<u8>) -> ObjectFuture<'_, u64> {
        Box::pin(self.send_piece(id, at, bytes))
    }

    fn finish(&self, id: ObjectId, size: u64) -> ObjectFuture<'_, ()> {
        Box::pin(self.finish_upload(id, size))
    }

    fn read(&self, id: ObjectId, range: Range<u64>) -> ObjectFuture<'_, ObjectPart> {
        Box::pin(self.read_range(id, range))
    }
}
