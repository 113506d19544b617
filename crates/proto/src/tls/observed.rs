//! Observes the checks of server certificates. quinn-proto does not report whether a handshake resumed a session, or
//! why it refused a certificate. Only a full handshake checks a certificate, so the checks show which handshakes
//! resumed a session and why certificates were refused.

use std::cell::Cell;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

use super::explain::explain;

thread_local! {
    /// Result of the last certificate check on this thread, unless [`take_check`] has already returned it.
    static LAST_CHECK: Cell<Option<CertificateCheck>> = const { Cell::new(None) };
}

/// Result of the check of a server's certificate. The error is a sentence with advice.
pub(crate) type CertificateCheck = Result<(), String>;

/// Returns the result of a check on this thread since the last call; `None` if there was no check.
pub(crate) fn take_check() -> Option<CertificateCheck> {
    LAST_CHECK.take()
}

/// A verifier whose results can be observed.
#[derive(Debug)]
pub(super) struct ObservedVerifier(pub(super) Arc<dyn ServerCertVerifier>);

impl ServerCertVerifier for ObservedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let checked = self.0.verify_server_cert(end_entity, intermediates, name, ocsp, now);
        LAST_CHECK.set(Some(checked.as_ref().map(drop).map_err(|error| explain(error, name, false))));
        checked
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
