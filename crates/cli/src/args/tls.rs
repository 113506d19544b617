//! Flags of TLS, for targets that use it.

use clap::Args;
use run::{Plan, TlsPlan, TlsVersion};

use super::units;

/// TLS flags of the target.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TlsArgs {
    /// Certificates (PEM) of trusted authorities, instead of the system's
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    cacert: Option<String>,
    /// The client's certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "TLS")]
    cert: Option<String>,
    /// The client's private key (PEM)
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "TLS")]
    key: Option<String>,
    /// Accept any server certificate; every result says so
    #[arg(long, help_heading = "TLS")]
    insecure: bool,
    /// Offer only this version, 1.2 or 1.3 [default: both]
    #[arg(long = "tls", value_name = "VERSION", help_heading = "TLS")]
    tls_version: Option<TlsVersion>,
    /// Share of connections that resume a session: on, off or 50% [default: off]
    #[arg(long, value_name = "SHARE", value_parser = resume, help_heading = "TLS")]
    resume: Option<f64>,
    /// HTTP/3 with --resume: send requests with safe methods, such as GET, before the handshake ends (0-RTT)
    #[arg(long, help_heading = "TLS")]
    early_data: bool,
}

impl TlsArgs {
    /// Applies the given flags to the plan. Fails if the user gave one of the flags but the target does not use TLS.
    pub(crate) fn apply(&self, plan: &mut Plan) -> anyhow::Result<()> {
        if !within(&plan.target.url) {
            anyhow::ensure!(
                !self.any(),
                "--cacert, --cert, --key, --insecure, --tls, --resume and --early-data need a target over TLS: write \
                 https://HOST:PORT/PATH"
            );
            return Ok(());
        }
        let tls = plan.load.tls.get_or_insert_default();
        let given = |flag: &Option<String>, file: &mut Option<String>| flag.clone().or_else(|| file.take());
        *tls = TlsPlan {
            ca_file: given(&self.cacert, &mut tls.ca_file),
            cert_file: given(&self.cert, &mut tls.cert_file),
            key_file: given(&self.key, &mut tls.key_file),
            insecure: tls.insecure || self.insecure,
            version: self.tls_version.or(tls.version),
            resume: self.resume.unwrap_or(tls.resume),
            early_data: tls.early_data || self.early_data,
            ..std::mem::take(tls)
        };
        Ok(())
    }

    /// Applies the given flags to the plan of one of two targets. Ignores the flags if only the other target uses TLS.
    /// Fails if neither target uses TLS.
    pub(crate) fn apply_to_either(&self, plan: &mut Plan, both: &[String]) -> anyhow::Result<()> {
        if within(&plan.target.url) || !both.iter().any(|url| within(url)) { self.apply(plan) } else { Ok(()) }
    }

    /// Returns true if any of these flags was given.
    pub(crate) fn any(&self) -> bool {
        self.cacert.is_some()
            || self.cert.is_some()
            || self.insecure
            || self.tls_version.is_some()
            || self.resume.is_some()
            || self.early_data
    }
}

/// Returns true if the scheme of a URL uses TLS.
fn within(url: &str) -> bool {
    proto::by_url(url).is_some_and(|(_, scheme)| scheme.tls)
}

fn resume(text: &str) -> Result<f64, String> {
    match text {
        "on" => Ok(1.0),
        "off" => Ok(0.0),
        _ => units::share(text).map_err(|e| format!("{e}; or on, off")),
    }
}
