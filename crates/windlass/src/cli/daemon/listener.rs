//! The listening port of a controller, with or without TLS.

use std::io;
use std::path::PathBuf;

use tokio::net::TcpListener;
#[cfg(feature = "tls")]
use tracing::info;
#[cfg(feature = "tls")]
use windlass_controller::api::TlsListener;
use windlass_controller::api::{ConnectionListener, IncomingConnection};
#[cfg(feature = "tls")]
use windlass_net::tls::{ServerCertificate, TlsFiles};

use super::serve::ServeOptions;
use crate::cli::error::CliError;

/// The files of a controller's certificate and key.
#[derive(Clone, Debug)]
pub(crate) struct TlsPaths {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// The listener of a controller.
#[derive(Debug)]
pub(super) enum ControllerListener {
    Plain(TcpListener),
    #[cfg(feature = "tls")]
    Tls(Box<TlsListener>),
}

impl ControllerListener {
    /// Listens on a port, with TLS if files are given.
    #[cfg(feature = "tls")]
    pub(super) fn new(listener: TcpListener, order: &ServeOptions) -> Result<Self, CliError> {
        let Some(TlsPaths { certificate, key }) = order.tls.clone() else {
            return Ok(Self::Plain(listener));
        };
        let tell = |text: &str| info!("{text}");
        let opened = ServerCertificate::open(TlsFiles { certificate, key }, tell);
        let certificates = opened.map_err(|bad| CliError::usage(bad.to_string()))?;
        Ok(Self::Tls(Box::new(TlsListener::new(listener, certificates))))
    }

    #[cfg(not(feature = "tls"))]
    pub(super) fn new(listener: TcpListener, order: &ServeOptions) -> Result<Self, CliError> {
        match &order.tls {
            None => Ok(Self::Plain(listener)),
            Some(TlsPaths { certificate, key }) => {
                let (certificate, key) = (certificate.display(), key.display());
                let what = format!("{certificate} and {key} cannot be used");
                Err(CliError::usage(what).hint("this windlass was built without TLS"))
            }
        }
    }
}

impl ConnectionListener for ControllerListener {
    async fn accept(&mut self) -> io::Result<IncomingConnection> {
        match self {
            Self::Plain(listener) => ConnectionListener::accept(listener).await,
            #[cfg(feature = "tls")]
            Self::Tls(doors) => doors.accept().await,
        }
    }
}
