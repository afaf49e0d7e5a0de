//! TLS, with certificates of the tests' own authorities.

use std::{
    collections::HashMap,
    fmt,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

use super::{Answer, Connection, Error, Request};
use crate::authority::{Authority, Credential};

/// A client that speaks TLS.
#[derive(Clone)]
pub struct Tls {
    connector: TlsConnector,
    /// The connections that are kept for the next request, if they are.
    kept: Option<Arc<Mutex<HashMap<SocketAddr, Connection>>>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    /// A client that trusts what the authority signed, and shows the certificate, if any.
    ///
    /// # Panics
    /// When the certificates cannot be read.
    #[must_use]
    pub fn new(authority: &Authority, shows: Option<&Credential>) -> Self {
        Self::trusting(&authority.pem(), shows)
    }

    /// The same for an authority's certificate as PEM.
    pub(crate) fn trusting(authority: &str, shows: Option<&Credential>) -> Self {
        let mut trusted = RootCertStore::empty();
        trusted.add(certificate(authority)).expect("an authority");
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_root_certificates(trusted);
        let config = match shows {
            None => config.with_no_client_auth(),
            Some(Credential { certificate: pem, key }) => {
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
                config
                    .with_client_auth_cert(vec![certificate(pem)], key)
                    .expect("a certificate and its key")
            }
        };
        Self {
            connector: TlsConnector::from(Arc::new(config)),
            kept: None,
        }
    }

    /// The same that keeps its connections for the next request, as the API server does.
    ///
    /// # Panics
    /// When the certificates cannot be read.
    #[must_use]
    pub fn keeping(authority: &Authority, shows: Option<&Credential>) -> Self {
        Self {
            kept: Some(Arc::default()),
            ..Self::new(authority, shows)
        }
    }

    /// Sends a request without a body.
    ///
    /// # Errors
    /// When a side refuses the other's certificate, the connection breaks, or no answer comes in time.
    pub fn try_send(&self, method: &str, url: &str, headers: &[(&str, &str)]) -> Result<Answer, Error> {
        let request = Request::of(method, url).headers(headers);
        let (host, address) = request.server()?;
        let kept = self.kept.as_ref().and_then(|kept| locked(kept).remove(&address));
        let mut connection = match kept.filter(|kept| !kept.is_closed()) {
            Some(kept) => kept,
            None => Connection::open_tls(address, &host, self)?,
        };
        let answer = connection.ask(&request.to_origin())?;
        if let Some(kept) = &self.kept {
            locked(kept).insert(address, connection);
        }
        Ok(answer)
    }

    pub(super) async fn connect(&self, host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, Error> {
        let name = host.to_owned().try_into().expect("a host name or an address");
        let connected = self.connector.connect(name, stream).await;
        connected.map_err(|error| Error::Tls(host.to_owned(), error))
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn certificate(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate")
}
