//! A self-signed certificate for the peers of TLS tests.

use std::path::Path;
use std::process::{Command, Stdio};

/// Creates `cert` and `key` in a folder with openssl. The certificate is for `localhost` and valid for two days. The
/// files are readable even for a server that drops its root rights. Callers must check [`has`](crate::has) for openssl
/// first.
pub fn self_signed(dir: &Path) {
    let mut command = Command::new("openssl");
    command.args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-subj",
        "/CN=localhost",
    ]);
    command.args(["-keyout", "key", "-out", "cert", "-days", "2"]).current_dir(dir).stderr(Stdio::null());
    assert!(command.status().unwrap().success(), "openssl makes a certificate");
    let open = Command::new("chmod").args(["-R", "a+rX"]).arg(dir).status().unwrap();
    assert!(open.success(), "chmod -R a+rX {}", dir.display());
}
