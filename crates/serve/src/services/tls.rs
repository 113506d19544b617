//! TLS around any service.

use std::sync::Arc;

use proto::tls::{ServerConfig, ServerSession, self_signed, server_config};

use crate::connection::BoxedSession;
use crate::{Options, ServeError, Service, Stats};

/// Names in the generated certificate.
const NAMES: &[&str] = &["localhost", "127.0.0.1", "::1"];

struct Tls {
    within: Arc<dyn Service>,
    config: ServerConfig,
}

/// Wraps a service in TLS if the options require it. Also returns a note for the user if a certificate was generated.
pub(crate) fn wrap(
    within: Arc<dyn Service>,
    alpn: &[&str],
    options: &Options<'_>,
) -> Result<(Arc<dyn Service>, Option<String>), ServeError> {
    if !options.on("tls")?
        && options.get::<String>("tls_cert")?.is_none()
        && options.get::<String>("tls_key")?.is_none()
    {
        return Ok((within, None));
    }
    let (config, note) = config(alpn, options)?;
    Ok((Arc::new(Tls { within, config }), note))
}

/// Returns the settings of TLS, with the certificate from the options or with a generated certificate. Also returns a
/// note for the user if a certificate was generated.
pub(crate) fn config(alpn: &[&str], options: &Options<'_>) -> Result<(ServerConfig, Option<String>), ServeError> {
    let (cert, key) = (options.get::<String>("tls_cert")?, options.get::<String>("tls_key")?);
    let refused = |e: proto::ProtoError| ServeError::Combination(format!("TLS: {e}"));
    let read = |path: &String| {
        std::fs::read(path)
            .map_err(|e| ServeError::Combination(format!("TLS: cannot read {path}: {e}; name a readable file")))
    };
    let (chain, key, note) = match (&cert, &key) {
        (Some(cert), Some(key)) => (read(cert)?, read(key)?, None),
        (None, None) => {
            let (chain, key) = self_signed(NAMES).map_err(refused)?;
            let note = "the certificate is made for this process and signed by itself: load it with --insecure, or give one \
                        with --cert and --key";
            (chain.into_bytes(), key.into_bytes(), Some(note.to_owned()))
        }
        _ => return Err(ServeError::Combination("TLS: give both --cert FILE and --key FILE, or neither".into())),
    };
    Ok((server_config(&chain, &key, alpn).map_err(refused)?, note))
}

impl Service for Tls {
    fn session(&self) -> BoxedSession {
        Box::new(ServerSession::new(self.within.session(), self.config.clone()))
    }

    fn tick(&self, now_s: u64) {
        self.within.tick(now_s);
    }

    fn add_to(&self, stats: &mut Stats) {
        self.within.add_to(stats);
    }

    fn is_timed(&self) -> bool {
        self.within.is_timed()
    }

    fn nagle(&self) -> bool {
        self.within.nagle()
    }
}
