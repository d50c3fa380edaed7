//! The address of stores: a folder of this machine, or a database that several controllers share.

use std::fmt;
use std::path::{Path, PathBuf};

use windlass_store::db::StoreError;
#[cfg(feature = "postgres")]
use windlass_store::db::postgres::address::PgAddress;

/// The address of a node's stores.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// A folder, which one controller leads.
    Folder(PathBuf),
    /// A PostgreSQL database.
    Postgres {
        /// The complete URL.
        url: String,
        /// The URL without its password, for messages.
        shown: String,
    },
}

impl StoreAddress {
    /// Parses `postgres://…`, `sqlite:FOLDER` or a folder.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        if text.starts_with("postgres:") || text.starts_with("postgresql:") {
            return postgres(text);
        }
        if let Some((scheme, _)) = text.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) {
            return Err(StoreError::Unusable {
                place: format!("{scheme}:"),
                reason: "name a folder, sqlite:FOLDER or postgres://…".to_owned(),
            });
        }
        Ok(Self::Folder(text.strip_prefix("sqlite:").unwrap_or(text).into()))
    }

    /// The folder, if it is one.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::Postgres { .. } => None,
        }
    }
}

/// Whether the text is the scheme of a URL that is no folder.
fn is_scheme(text: &str) -> bool {
    text != "sqlite" && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(feature = "postgres")]
fn postgres(text: &str) -> Result<StoreAddress, StoreError> {
    let shown = PgAddress::parse(text)?.display_name().to_owned();
    Ok(StoreAddress::Postgres { url: text.to_owned(), shown })
}

#[cfg(not(feature = "postgres"))]
fn postgres(_text: &str) -> Result<StoreAddress, StoreError> {
    Err(StoreError::Unusable {
        place: "postgres:".to_owned(),
        reason: "this windlass was built without PostgreSQL".to_owned(),
    })
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.display()),
            Self::Postgres { shown, .. } => f.write_str(shown),
        }
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreAddress({self})")
    }
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    #[test]
    fn address_is_a_folder_or_a_database_and_is_shown_without_its_password() {
        let read = |text| StoreAddress::parse(text).unwrap();
        assert_eq!(read("sqlite:runs").folder(), Some(Path::new("runs")));
        assert_eq!(read("runs/here").folder(), Some(Path::new("runs/here")));
        let shared = read("postgres://ann:hush@db.example/ship");
        assert_eq!(format!("{shared} {shared:?}").matches("hush").count(), 0);
        assert_eq!(shared.to_string(), "postgres://db.example:5432/ship");
        StoreAddress::parse("postgres://ann@db.example:port/ship").unwrap_err();
        let other =
            StoreAddress::parse("mysql://ann:hush@db.example/ship").unwrap_err().to_string();
        assert!(other.contains("postgres://") && !other.contains("hush"), "{other}");
    }
}
