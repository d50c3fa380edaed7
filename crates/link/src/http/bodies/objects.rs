//! Bodies about objects, except their bytes.

use serde::{Deserialize, Serialize};

/// The size of an unfinished upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "UploadSize"))]
pub struct UploadSizeBody {
    /// The number of bytes that are there and verified: the upload continues at this offset.
    pub size: u64,
}
