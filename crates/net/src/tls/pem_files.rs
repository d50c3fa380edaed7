//! Certificates and keys in files of PEM.

use std::fs;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A file that does not have what it should.
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

/// The certificates in a file: at least one.
pub(super) fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, BadPemFile> {
    let text = read(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found =
        found.map_err(|error| BadPemFile::new(file, format!("is no file of PEM: {error}")))?;
    if found.is_empty() {
        return Err(BadPemFile::new(
            file,
            "has no certificate: it would begin with -----BEGIN CERTIFICATE-----",
        ));
    }
    Ok(found)
}

/// The private key in a file.
pub(super) fn key(file: &Path) -> Result<PrivateKeyDer<'static>, BadPemFile> {
    let text = read(file)?;
    // What exactly is wrong with a key is not told: it may be a part of one.
    PrivateKeyDer::from_pem_slice(&text)
        .map_err(|_| BadPemFile::new(file, "has no private key without a password"))
}

fn read(file: &Path) -> Result<Vec<u8>, BadPemFile> {
    fs::read(file).map_err(|error| BadPemFile::new(file, format!("cannot be read: {error}")))
}
