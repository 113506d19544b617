//! Self-signed certificate for servers and clients of TLS tests.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs openssl to create the files `cert` and `key` in a folder. The certificate is for `localhost` and is valid for
/// two days. All users can read the files, because a server may drop its root rights. Callers must first check that
/// openssl is installed ([`has`](crate::has)).
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
