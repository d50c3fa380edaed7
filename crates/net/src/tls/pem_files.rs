//! Reads certificates and keys from PEM files.

use std::fs;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A PEM file is not usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {why}", file.display())]
pub struct BadPemFile {
    file: PathBuf,
    why: String,
}

impl BadPemFile {
    pub(super) fn new(file: &Path, why: impl Into<String>) -> Self {
        Self { file: file.to_owned(), why: why.into() }
    }
}

/// Reads the certificates of a file: at least one.
pub(super) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, BadPemFile> {
    let text = read(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found =
        found.map_err(|error| BadPemFile::new(file, format!("is not a PEM file: {error}")))?;
    if found.is_empty() {
        return Err(BadPemFile::new(
            file,
            "has no certificate; a certificate begins with -----BEGIN CERTIFICATE-----",
        ));
    }
    Ok(found)
}

/// Reads the private key of a file.
pub(super) fn key(file: &Path) -> Result<PrivateKeyDer<'static>, BadPemFile> {
    let text = read(file)?;
    // The details of a key error are not shown: they may contain a part of the key.
    PrivateKeyDer::from_pem_slice(&text)
        .map_err(|_| BadPemFile::new(file, "has no private key without a password"))
}

fn read(file: &Path) -> Result<Vec<u8>, BadPemFile> {
    fs::read(file).map_err(|error| BadPemFile::new(file, format!("cannot be read: {error}")))
}
