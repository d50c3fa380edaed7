//! Operations on objects. The bodies with several objects or ids are internal to windlass.

use windlass_link::http::{PIECE_HEADER, UploadSizeBody};

use crate::api::objects::{AppendQuery, FinishQuery};
use crate::api::openapi::codes;
use crate::api::openapi::operation::{OpenApiOperation, get, post};

const BYTES: &str = "application/octet-stream";

const ID: &str = "The id of the object: its BLAKE3 hash, 64 hexadecimal digits in lower case";

const PIECE: &str = "The BLAKE3 hash of the body; other bytes are refused";

pub(super) fn operations() -> Vec<OpenApiOperation> {
    [of_batches(), of_uploads(), vec![show()]].concat()
}

fn of_batches() -> Vec<OpenApiOperation> {
    vec![
        sent(post("/objects/missing", "Internal: ask which of some objects are missing"))
            .takes_bytes()
            .answers_bytes(200, "The ids of the missing ones; the others are touched", BYTES),
        sent(post("/objects/batch", "Internal: store small objects"))
            .takes_bytes()
            .answers_nothing(204, "They are stored")
            .refuses(&["object_mismatch"]),
        sent(post("/objects/fetch", "Internal: get small objects"))
            .takes_bytes()
            .answers_bytes(200, "The first of the objects, at most 16 MiB", BYTES)
            .refuses(&["no_such_object", "object_damaged"]),
    ]
}

fn of_uploads() -> Vec<OpenApiOperation> {
    vec![
        object(get("/objects/{id}/upload", "Get the size of an unfinished upload"))
            .answers::<UploadSizeBody>(200, "The size; 0 if there is no upload"),
        sent(object(post("/objects/{id}/upload", "Continue an upload with the next 1 to 4 MiB")))
            .query::<AppendQuery>()
            .takes_bytes()
            .answers::<UploadSizeBody>(200, "The new size")
            .refuses(&["object_offset"]),
        sent(object(post("/objects/{id}/finish", "Publish an upload as an object")))
            .query::<FinishQuery>()
            .answers_nothing(204, "The object is stored")
            .refuses(&["object_offset", "object_mismatch"]),
    ]
}

fn show() -> OpenApiOperation {
    object(get("/objects/{id}", "Get an object, or a range of it"))
        .header::<String>("range", "The bytes to return, such as `bytes=0-1023`")
        .answers_bytes(200, "The bytes of the object", BYTES)
        .answers_bytes(206, "The requested `range`", BYTES)
        .refuses(&["no_such_object", "object_damaged", "no_such_range"])
}

fn object(operation: OpenApiOperation) -> OpenApiOperation {
    operation.part::<String>("id", ID).refuses(codes::OBJECTS)
}

/// An operation with bytes in its body.
fn sent(operation: OpenApiOperation) -> OpenApiOperation {
    operation
        .header::<String>(PIECE_HEADER, PIECE)
        .refuses(codes::OBJECTS)
        .refuses(&["damaged_piece"])
}
