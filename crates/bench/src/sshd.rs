//! A private sshd on loopback with its own keys. The private sshd neither reads nor changes the machine's own ssh
//! configuration.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use tempfile::TempDir;

use crate::programs::{self, Server};

/// The sshd that only this benchmark uses. Dropping this value ends the private sshd.
pub(crate) struct Sshd {
    _server: Server,
    /// The ssh command that connects to this sshd, without the host name.
    pub(crate) words: String,
}

impl Sshd {
    /// Starts sshd. sshd (option `-f`) and the ssh client (option `-F`) read only configuration files of this
    /// benchmark.
    pub(crate) fn start() -> Result<Self> {
        let (sshd, keygen, _) = (programs::find("sshd")?, programs::find("ssh-keygen")?, programs::find("ssh")?);
        let (dir, port) = (TempDir::new()?, programs::free_port()?);
        let d = dir.path().display().to_string();
        for name in ["host", "user"] {
            let file = dir.path().join(name);
            let made = Command::new(&keygen).args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file).status()?;
            ensure!(made.success(), "ssh-keygen ended with {made}");
        }
        // sshd needs this directory if it runs as root.
        let _ = std::fs::create_dir_all("/run/sshd");
        // By default, sshd starts to refuse connections when 10 connections are not yet authenticated (`MaxStartups`).
        // A limit of 10 is too low for the twelve agents (generator processes) of a row.
        let server = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {d}/host\nAuthorizedKeysFile {d}/user.pub\nPidFile none\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nMaxStartups 100\nMaxSessions 100\n\
             LogLevel ERROR\n"
        );
        let client = format!(
            "Host *\n HostName 127.0.0.1\n Port {port}\n IdentityFile {d}/user\n IdentitiesOnly yes\n \
             UserKnownHostsFile /dev/null\n StrictHostKeyChecking no\n LogLevel ERROR\n"
        );
        std::fs::write(dir.path().join("sshd"), server)?;
        std::fs::write(dir.path().join("client"), client)?;
        let mut command = Command::new(sshd);
        command.arg("-D").arg("-f").arg(dir.path().join("sshd")).stdin(Stdio::null()).stderr(Stdio::null());
        let addr = SocketAddr::from(([127, 0, 0, 1], port));
        let server = programs::await_listening(command.spawn()?, addr, Some(dir))?;
        Ok(Self { _server: server, words: format!("ssh -F {d}/client") })
    }
}
