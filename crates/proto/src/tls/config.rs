//! Builds rustls's configuration from the settings, once per load or server. This module reads all certificate and key
//! files, and reports errors in them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use run::{TlsPlan, TlsVersion};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{ProducesTickets, ServerSessionMemoryCache};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme, SupportedProtocolVersion, version,
};

use super::ServerConfig;
use super::client::{Shared, TlsClient};
use super::observed::ObservedVerifier;
use super::pinned::PinningVerifier;
use super::tickets::Tickets;
use crate::{Client, ProtoError, ProtocolSpec};

const TLS_VERSIONS: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];

/// Maximum number of sessions that a server with early data stores. If a new session would exceed this number, the
/// oldest session is dropped.
const MAX_SESSIONS: usize = 16_384;

/// Creates the client of a protocol within TLS.
pub(crate) fn client<C: Client>(plan: &TlsPlan, spec: ProtocolSpec, within: C) -> Result<TlsClient<C>, ProtoError> {
    let host = plan.server_name.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(host)
        .map_err(|_| invalid("the server's name", &plan.server_name, "TLS needs a host name or an address"))?;
    let shared = Shared {
        fresh: Arc::new(fresh_config(plan, spec.alpn)?),
        resuming: Arc::new(resuming_config(plan, spec.alpn)?),
        resume: plan.resume,
        name,
        connections: AtomicU64::new(0),
        spec,
    };
    Ok(TlsClient { within: within.within_tls(), shared: Arc::new(shared) })
}

/// Returns the configuration of connections that resume an earlier session.
pub(crate) fn resuming_config(plan: &TlsPlan, alpn: &str) -> Result<ClientConfig, ProtoError> {
    let mut config = fresh_config(plan, alpn)?;
    config.resumption = Resumption::store(Arc::new(Tickets::default()));
    Ok(config)
}

/// Returns the configuration of connections with a full handshake.
pub(crate) fn fresh_config(plan: &TlsPlan, alpn: &str) -> Result<ClientConfig, ProtoError> {
    let versions = match plan.version {
        None => TLS_VERSIONS,
        Some(TlsVersion::V1_3) => &TLS_VERSIONS[..1],
        Some(TlsVersion::V1_2) => &TLS_VERSIONS[1..],
    };
    let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(versions).map_err(failed)?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(ObservedVerifier(verifier(plan)?)));
    let mut config = match (&plan.cert_file, &plan.key_file) {
        (None, None) => builder.with_no_client_auth(),
        (Some(cert), Some(key)) => {
            let chain = certificates("the certificate", cert)?;
            builder.with_client_auth_cert(chain, private_key(key)?).map_err(|e| no_pair(cert, &e))?
        }
        (cert, _) => {
            let given = if cert.is_some() { "--cert" } else { "--key" };
            return Err(invalid("a client certificate", given, "give both --cert FILE and --key FILE"));
        }
    };
    config.resumption = Resumption::disabled();
    config.alpn_protocols =
        [alpn].iter().filter(|name| !name.is_empty()).map(|name| name.as_bytes().to_vec()).collect();
    Ok(config)
}

/// Builds the configuration of a server from three parts: the certificate chain (PEM), the key (PEM), and the protocols
/// that ALPN may select.
pub fn server_config(chain: &[u8], key: &[u8], alpn: &[&str]) -> Result<ServerConfig, ProtoError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(chain).filter_map(Result::ok).collect();
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|e| invalid("the private key", &e.to_string(), "give a key in PEM, not encrypted"))?;
    let builder =
        rustls::ServerConfig::builder_with_provider(provider()).with_protocol_versions(TLS_VERSIONS).map_err(failed)?;
    let built = builder.with_no_client_auth().with_single_cert(chain, key).map_err(|e| no_pair("the chain", &e))?;
    let mut config = built;
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    config.ticketer = rustls::crypto::ring::Ticketer::new().map_err(failed)?;
    Ok(Arc::new(config))
}

/// Returns the configuration of a QUIC server that accepts early data (0-RTT) and is otherwise like `config`. The
/// server stores the sessions itself, because it must accept the early data of each session only once (RFC 8446,
/// section 8.1).
pub fn with_early_data(config: &ServerConfig) -> ServerConfig {
    let mut config = rustls::ServerConfig::clone(config);
    config.ticketer = Arc::new(NoTicketer);
    config.session_storage = ServerSessionMemoryCache::new(MAX_SESSIONS);
    // In QUIC, a server that accepts early data must announce the largest possible maximum (RFC 9001, section 4.6.1).
    // Flow control limits the amount of early data.
    config.max_early_data_size = u32::MAX;
    Arc::new(config)
}

/// Disables tickets that contain the session, so that the server stores sessions itself.
#[derive(Debug)]
struct NoTicketer;

impl ProducesTickets for NoTicketer {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// Creates a self-signed certificate for the host names `names`. Returns the certificate and its key, both in PEM.
pub fn self_signed(names: &[&str]) -> Result<(String, String), ProtoError> {
    let bad = |e: rcgen::Error| invalid("a self-signed certificate", &e.to_string(), "give one with --cert and --key");
    let mut params =
        rcgen::CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).map_err(bad)?;
    params.distinguished_name.push(rcgen::DnType::CommonName, names.first().copied().unwrap_or_default());
    let key = rcgen::KeyPair::generate().map_err(bad)?;
    Ok((params.self_signed(&key).map_err(bad)?.pem(), key.serialize_pem()))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn verifier(plan: &TlsPlan) -> Result<Arc<dyn ServerCertVerifier>, ProtoError> {
    if plan.insecure {
        return Ok(Arc::new(AcceptAnyCertificate(provider())));
    }
    let (mut roots, mut trusted) = (RootCertStore::empty(), Vec::new());
    match &plan.ca_file {
        Some(file) => {
            trusted = certificates("the trusted certificates", file)?;
            let (good, bad) = roots.add_parsable_certificates(trusted.iter().cloned());
            if good == 0 || bad > 0 {
                return Err(invalid("--cacert", file, "give a file of certificates in PEM"));
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs().certs;
            if roots.add_parsable_certificates(found).0 == 0 {
                let advice =
                    "this system trusts no authority: install ca-certificates, or give --cacert FILE or --insecure";
                return Err(invalid("trusted certificates", "", advice));
            }
        }
    }
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
    let chains =
        built.map_err(|e| invalid("the trusted certificates", &e.to_string(), "give others with --cacert FILE"))?;
    Ok(Arc::new(PinningVerifier { chains, trusted }))
}

fn certificates(what: &'static str, file: &str) -> Result<Vec<CertificateDer<'static>>, ProtoError> {
    let bytes = crate::client::read(what, file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(invalid(what, file, "give a file of certificates in PEM (-----BEGIN CERTIFICATE-----)")),
    }
}

fn private_key(file: &str) -> Result<PrivateKeyDer<'static>, ProtoError> {
    let bytes = crate::client::read("the private key", file)?;
    PrivateKeyDer::from_pem_slice(&bytes)
        .map_err(|_| invalid("the private key", file, "give a key in PEM that is not encrypted"))
}

fn invalid(what: &'static str, value: &str, advice: &'static str) -> ProtoError {
    ProtoError::Invalid { what, value: value.into(), advice }
}

fn no_pair(cert: &str, error: &Error) -> ProtoError {
    match error {
        Error::InconsistentKeys(_) => {
            invalid("the certificate", cert, "its key is another one; give the key that belongs to it")
        }
        _ => invalid("the certificate", cert, "give a certificate and the key that belongs to it, both in PEM"),
    }
}

fn failed(error: Error) -> ProtoError {
    invalid("TLS", &error.to_string(), "please report this")
}

/// Trusts any certificate, but still checks that the server owns the certificate's private key. Because of the check of
/// the private key, a handshake takes about as much CPU time as usual.
#[derive(Debug)]
struct AcceptAnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
