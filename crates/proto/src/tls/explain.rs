//! Explains why TLS failed, in one sentence with advice.

use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerMisbehaved};

const RENEGOTIATION_ADVICE: &str = "it asks for a second handshake on a connection that had one (renegotiation of TLS 1.2), which is \
     refused here; turn that off at the server (a client certificate that only some of its paths want, say), or serve TLS 1.3";

/// Sentence about a server that supports none of the offered protocols. HTTP/2 and gRPC offer `h2`; other HTTP clients
/// offer `http/1.1`.
const NO_COMMON_PROTOCOL: &str = "it speaks none of the protocols that were offered (ALPN): give --http2 if it speaks only \
                                  HTTP/2, and leave --http2 out if it speaks only HTTP/1.1";

/// Returns the sentence for an error of a connection to `name`. `again` is true if the connection has completed a
/// handshake with TLS 1.2, so that a further handshake is a renegotiation.
pub(super) fn explain(error: &Error, name: &ServerName<'_>, again: bool) -> String {
    match error {
        // If the client refuses a renegotiation, the server ends the connection with the alert handshake_failure, or
        // repeats its request.
        Error::AlertReceived(AlertDescription::HandshakeFailure) if again => RENEGOTIATION_ADVICE.into(),
        Error::PeerMisbehaved(PeerMisbehaved::TooManyRenegotiationRequests) => RENEGOTIATION_ADVICE.into(),
        Error::InvalidMessage(
            InvalidMessage::HandshakePayloadTooLarge
            | InvalidMessage::CertificatePayloadTooLarge
            | InvalidMessage::MessageTooLarge,
        ) => "it announces a message of the handshake of more than 64 KiB: either its certificate chain has far more \
              certificates than clients need (leave all but its own and those of the authorities between out), or its \
              answer is damaged or no TLS at all"
            .into(),
        Error::InvalidCertificate(why) => certificate(why, &name.to_str()),
        Error::AlertReceived(alert) => alerted(*alert),
        Error::InvalidMessage(_) => {
            "it does not answer in TLS; is the port's protocol a plain one (http:// instead of https://)?".into()
        }
        Error::PeerIncompatible(why) => format!(
            "client and server have no version or cipher of TLS in common ({}); TLS 1.2 and 1.3 are spoken here (--tls)",
            reason(why)
        ),
        Error::DecryptError => "a record was changed on its way: it does not decrypt".into(),
        Error::PeerMisbehaved(why) => format!("the server breaks the TLS protocol ({})", reason(why)),
        Error::PeerSentOversizedRecord => "the server sent a TLS record that is longer than TLS allows".into(),
        Error::NoApplicationProtocol => NO_COMMON_PROTOCOL.into(),
        other => format!("TLS failed ({}); does it speak TLS 1.2 or 1.3 on this port?", reason(other)),
    }
}

fn certificate(error: &CertificateError, name: &str) -> String {
    const INSECURE_ADVICE: &str = "or measure anyway with --insecure";
    match error {
        CertificateError::Expired => format!("its certificate has expired; renew it, {INSECURE_ADVICE}"),
        CertificateError::ExpiredContext { time, not_after } => {
            let days = time.as_secs().saturating_sub(not_after.as_secs()) / 86_400;
            format!("its certificate expired {days} days ago; renew it, {INSECURE_ADVICE}")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!("its certificate is not valid yet; check the clocks of both hosts, {INSECURE_ADVICE}")
        }
        CertificateError::NotValidForName => {
            format!("its certificate is not for {name:?}; use a name that it has, {INSECURE_ADVICE}")
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names: Vec<&str> = presented.iter().map(|name| quoted(name)).collect();
            let has = if names.is_empty() { "no name".into() } else { names.join(", ") };
            format!("its certificate is not for {name:?} but for {has}; use a name that it has, {INSECURE_ADVICE}")
        }
        CertificateError::UnknownIssuer => format!(
            "its certificate is not signed by an authority that is trusted here (self-signed, or by a private one); give the \
             authority's certificate with --cacert FILE, {INSECURE_ADVICE}"
        ),
        CertificateError::Revoked => format!("its certificate was revoked; renew it, {INSECURE_ADVICE}"),
        CertificateError::BadSignature | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            format!(
                "its certificate's signature is not by the trusted authority of its name: it is self-signed, of another \
                 authority, or forged; give the right one with --cacert FILE, {INSECURE_ADVICE}"
            )
        }
        CertificateError::BadEncoding => format!("its certificate cannot be read; renew it, {INSECURE_ADVICE}"),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            format!("its certificate is not one for servers; give it one for server authentication, {INSECURE_ADVICE}")
        }
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => format!(
            "its certificate is that of an authority (a self-signed one, made by `openssl req -x509`) and is not trusted here; \
             give this certificate with --cacert FILE, {INSECURE_ADVICE}"
        ),
        other => format!("its certificate is not valid ({}); renew it, {INSECURE_ADVICE}", reason(other)),
    }
}

/// Returns the host name within the library's debug output of a name, `DnsName("example.com")`.
fn quoted(name: &str) -> &str {
    name.split('"').nth(1).unwrap_or(name)
}

fn alerted(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => {
            "it wants a certificate of the client; give one with --cert FILE --key FILE".into()
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnknownCA
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateRevoked
        | AlertDescription::UnsupportedCertificate => {
            format!(
                "it refuses the client's certificate ({}); give one that it trusts with --cert FILE --key FILE",
                reason(&alert)
            )
        }
        AlertDescription::ProtocolVersion => {
            "it does not speak the version of TLS that was offered; leave --tls out, or give the other one".into()
        }
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => format!(
            "it refuses the handshake ({}): it has no cipher in common with this client, or wants a certificate \
             (--cert FILE --key FILE)",
            reason(&alert)
        ),
        AlertDescription::UnrecognisedName => {
            "it knows no site of that name (SNI); use a name that it serves in the target".into()
        }
        AlertDescription::NoApplicationProtocol => NO_COMMON_PROTOCOL.into(),
        AlertDescription::Unknown(number) => {
            format!("it ends the connection with TLS alert {number}, which this client does not know")
        }
        other => format!("it ends the connection with a TLS alert ({})", reason(&other)),
    }
}

/// Returns the name of an error's innermost variant, split into words. Omits the data of the error, because this data
/// may be raw bytes from the server.
fn reason(why: &impl std::fmt::Debug) -> String {
    let text = format!("{why:?}");
    let names = text.split(['[', '{', '"', ')', ' ']).next().unwrap_or_default();
    let is_name = |name: &&str| name.starts_with(|c: char| c.is_ascii_uppercase());
    let name = names.split('(').rfind(is_name).unwrap_or("unknown");
    let mut words = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !words.is_empty() && !words.ends_with(|last: char| last.is_ascii_uppercase()) {
            words.push(' ');
        }
        words.push(c);
    }
    words.to_ascii_lowercase()
}

#[cfg(test)]
mod reason_tests {
    use super::*;

    #[test]
    fn a_reason_has_words_and_no_data_of_the_peer() {
        let context = CertificateError::UnsupportedSignatureAlgorithmContext {
            signature_algorithm_id: vec![42, 134, 72],
            supported_algorithms: Vec::new(),
        };
        assert_eq!(reason(&context), "unsupported signature algorithm context");
        assert_eq!(reason(&Error::General("\u{1b}[31m\u{0}secret".into())), "general");
        assert_eq!(reason(&PeerMisbehaved::TooManyRenegotiationRequests), "too many renegotiation requests");
        assert_eq!(reason(&AlertDescription::InternalError), "internal error");
        assert_eq!(reason(&Error::InvalidCertificate(CertificateError::BadSignature)), "bad signature");
    }
}
