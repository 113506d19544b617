//! A certificate that signs itself, as most peers of the tests within TLS need one.

use std::path::Path;
use std::process::{Command, Stdio};

/// Makes `cert` and `key` in a folder: for `localhost`, two days long, by openssl, and readable for a server that gives up root.
/// Tests ask [`has`](crate::has) for openssl first.
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
