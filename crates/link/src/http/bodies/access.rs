//! Bodies of requests by an administrator.

use serde::{Deserialize, Serialize};
use windlass_core::access::AccessScope;
use windlass_core::id::TokenId;
use windlass_core::json_form::{AsText, AsWord};
use windlass_core::report::UtcTime;

/// The longest lifetime of a token: ten years. A token without a lifetime is valid until it is revoked.
pub const TOKEN_EXPIRES_MAX_MS: u64 = 3650 * 24 * 3_600_000;

/// A token to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CreateToken"))]
pub struct CreateTokenBody {
    /// The name of the token, which no other valid token has (default: after its scopes).
    pub name: Option<String>,
    /// The permissions of the token.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub scopes: Vec<AsWord<AccessScope>>,
    /// The lifetime of the token (default: until it is revoked).
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = TOKEN_EXPIRES_MAX_MS)))]
    pub expires_in_ms: Option<u64>,
}

/// A token that was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CreatedToken"))]
pub struct CreatedTokenBody {
    /// The id of the token.
    pub id: AsText<TokenId>,
    /// Its name.
    pub name: String,
    /// Its permissions.
    pub scopes: Vec<AsWord<AccessScope>>,
    /// When it expires; null if it does not.
    pub expires_at: Option<UtcTime>,
    /// The token itself, which no other answer contains.
    pub token: String,
}

/// The holder that loses a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ReleaseLock"))]
pub struct ReleaseLockBody {
    /// The number of the lease that holds the lock; required if there are several.
    pub fence: Option<u64>,
}

/// A lock that was released by force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ReleasedLock"))]
pub struct ReleasedLockBody {
    /// The name of the lock.
    pub lock: String,
    /// The number of the lease that held it.
    pub fence: u64,
}
