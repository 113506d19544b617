//! Trust in self-signed server certificates. `openssl req -x509` makes a certificate that is marked as the certificate
//! of an authority. Clients such as curl accept the certificate of an authority as a server's own certificate if the
//! user trusts it. The rules for chains (RFC 5280) do not permit an authority's certificate as a server's certificate.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use super::der::{self, Facts};

/// Verifies certificate chains, and also accepts a server's certificate that is itself among the trusted certificates.
#[derive(Debug)]
pub(super) struct PinningVerifier {
    pub(super) chains: Arc<WebPkiServerVerifier>,
    pub(super) trusted: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for PinningVerifier {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.chains.verify_server_cert(own, between, name, ocsp, now);
        if verified.is_ok() || !self.trusted.iter().any(|trusted| trusted.as_ref() == own.as_ref()) {
            return verified;
        }
        // For a trusted certificate, only its validity time and its names must be checked.
        let facts = der::facts(own).ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
        check_time(&facts, now)?;
        check_name(own, &facts, name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

fn check_time(facts: &Facts<'_>, now: UnixTime) -> Result<(), Error> {
    let now_s = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    match now_s {
        now_s if now_s < facts.begins_s => Err(Error::InvalidCertificate(CertificateError::NotValidYet)),
        now_s if now_s > facts.ends_s => {
            let end_s = u64::try_from(facts.ends_s).unwrap_or_default();
            let not_after = UnixTime::since_unix_epoch(Duration::from_secs(end_s));
            Err(Error::InvalidCertificate(CertificateError::ExpiredContext { time: now, not_after }))
        }
        _ => Ok(()),
    }
}

/// Checks that the certificate is for the server's name. As in OpenSSL, the common name counts if the certificate has
/// no alternative names.
fn check_name(own: &CertificateDer<'_>, facts: &Facts<'_>, name: &ServerName<'_>) -> Result<(), Error> {
    let error = match verify_server_name(&ParsedCertificate::try_from(own)?, name) {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    let has_names = match &error {
        Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }) => !presented.is_empty(),
        _ => true,
    };
    let is_common_name = facts.common_name.is_some_and(|common| common.eq_ignore_ascii_case(name.to_str().as_bytes()));
    if !has_names && is_common_name { Ok(()) } else { Err(error) }
}
