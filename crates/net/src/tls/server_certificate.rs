//! The certificate of a controller, reloaded when its files change.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{fmt, fs};

use rustls::ServerConfig;
use tokio::time::Instant;

use super::crypto_provider::provider;
use super::pem_files::{self, BadPemFile};

/// How long a change of the files can stay unnoticed.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The files with a controller's certificate and key.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate with its intermediate certificates.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The current certificate.
pub struct ServerCertificate {
    files: TlsFiles,
    /// Reports files that cannot be used.
    report: Box<dyn Fn(&str) + Send + Sync>,
    loaded: Mutex<LoadedCertificate>,
}

#[derive(Debug)]
struct LoadedCertificate {
    config: Arc<ServerConfig>,
    /// The state of the files when they were last read, valid or not.
    stamps: FileStamps,
    checked_at: Instant,
}

/// The modification time and the size of each file.
type FileStamps = [Option<(SystemTime, u64)>; 2];

impl ServerCertificate {
    /// Reads the files. If they later change to something invalid, that is reported, and the previous certificate stays in use.
    pub fn open(
        files: TlsFiles,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, BadPemFile> {
        let like = files.stamps();
        let config = files.load()?;
        let shown =
            Mutex::new(LoadedCertificate { config, stamps: like, checked_at: Instant::now() });
        Ok(Self { files, report: Box::new(tell), loaded: shown })
    }

    /// Returns the configuration for a new connection.
    pub fn current(&self) -> Arc<ServerConfig> {
        let mut shown = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if shown.checked_at.elapsed() >= CHECK_INTERVAL {
            shown.checked_at = Instant::now();
            // The state is taken before the files are read: a change in between is seen the next time.
            let like = self.files.stamps();
            if like != shown.stamps {
                shown.stamps = like;
                self.reload(&mut shown);
            }
        }
        Arc::clone(&shown.config)
    }

    fn reload(&self, shown: &mut LoadedCertificate) {
        match self.files.load() {
            Ok(config) => {
                shown.config = config;
                (self.report)("the certificate has changed: new connections use the new one");
            }
            // A change may be half complete: its other half is a change too.
            Err(bad) => (self.report)(&format!("{bad}; the previous certificate stays in use")),
        }
    }
}

impl fmt::Debug for ServerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCertificate").field("files", &self.files).finish_non_exhaustive()
    }
}

impl TlsFiles {
    fn stamps(&self) -> FileStamps {
        [&self.certificate, &self.key].map(|file| {
            let found = fs::metadata(file).ok()?;
            Some((found.modified().ok()?, found.len()))
        })
    }

    fn load(&self) -> Result<Arc<ServerConfig>, BadPemFile> {
        let chain = pem_files::certificates(&self.certificate)?;
        let key = pem_files::key(&self.key)?;
        let config = ServerConfig::builder_with_provider(provider());
        let config = config.with_safe_default_protocol_versions();
        let config = config.expect("the provider has the suites of both versions");
        let config = config.with_no_client_auth().with_single_cert(chain, key);
        let mut config = config.map_err(|error| {
            BadPemFile::new(
                &self.certificate,
                format!("and {} do not fit: {error}", self.key.display()),
            )
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}
