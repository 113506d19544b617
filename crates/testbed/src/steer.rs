//! Chooses the CPUs on which the kernel processes the packets that a host receives. Between namespaces, the kernel
//! normally processes received packets on the sender's CPU. Without this module, packets for a server would cost CPU
//! time of its clients. Receive packet steering moves the receive work to CPUs of the receiver.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sys::netns::Netns;

use crate::error::Result;
use crate::net::Net;
use crate::tools;

/// File with the CPU mask for new interfaces of a network namespace. The root user of a namespace may write this file,
/// but not the file `rps_cpus` of an interface.
const DEFAULT_MASK_FILE: &str = "/proc/sys/net/core/rps_default_mask";

/// Shell script that sets the CPU mask of a host's interface. The mask is in a file of sysfs, so the script first
/// mounts sysfs as the host's namespace sees it.
const SET_MASK_SCRIPT: &str =
    r#"mount -t sysfs sysfs /sys && printf %s "$1" > /sys/class/net/eth0/queues/rx-0/rps_cpus"#;

/// Mechanism that moved the receive work of a host to the chosen CPUs, in words for notes. If the receive work was not
/// moved, the `Err` value is the reason.
pub type Steered = std::result::Result<&'static str, String>;

/// A host of a testbed under construction, and the CPUs that will do its receive work.
pub(crate) struct Receiver<'a> {
    host: &'a str,
    netns: &'a Netns,
    mask: String,
    asked: bool,
}

/// Sets the CPU masks for future interfaces of the hosts. The caller must call this function before the hosts have an
/// interface.
pub(crate) fn ask<'a>(wanted: &'a BTreeMap<String, Vec<u32>>, net: &'a Net) -> Result<Vec<Receiver<'a>>> {
    let receiver = |(host, cpus): (&'a String, &Vec<u32>)| {
        let netns = net.netns(net.index(host)?);
        Ok(Receiver::ask(host, netns, cpus))
    };
    wanted.iter().map(receiver).collect()
}

impl<'a> Receiver<'a> {
    fn ask(host: &'a str, netns: &'a Netns, cpus: &[u32]) -> Self {
        let mask = mask(cpus);
        let asked = tools::write(netns, DEFAULT_MASK_FILE, &mask).is_ok();
        Self { host, netns, mask, asked }
    }

    /// Returns the host's name, and the mechanism that moved the receive work or the reason why it was not moved. The
    /// caller must call this function after the host's interface was created. If the kernel refused the mask for future
    /// interfaces, the function sets the mask of the existing interface, which requires root.
    pub(crate) fn settle(self) -> (String, Steered) {
        let steered = match self.asked {
            true => Ok("rps_default_mask of its namespace"),
            false => self.set().map(|()| "rps_cpus of its interface"),
        };
        (self.host.into(), steered)
    }

    fn set(&self) -> Result<(), String> {
        let refused = |why: &str| format!("rps_default_mask is not for this user, and rps_cpus needs root ({why})");
        let mut command = tools::tool("unshare");
        command.args(["-m", "sh", "-c", SET_MASK_SCRIPT, "sh", &self.mask]);
        self.netns.enter(&mut command);
        let output = command.output().map_err(|e| refused(&format!("unshare: {e}")))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(refused(String::from_utf8_lossy(&output.stderr).trim())),
        }
    }
}

/// Formats a set of CPUs in the kernel's format: hexadecimal words of 32 bits, the highest first.
fn mask(cpus: &[u32]) -> String {
    let words = cpus.iter().max().map_or(1, |cpu| cpu / 32 + 1);
    let mut text = String::new();
    for word in (0..words).rev() {
        let bits = cpus.iter().filter(|cpu| **cpu / 32 == word).fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32));
        let comma = if word == 0 { "" } else { "," };
        let _ = write!(text, "{bits:08x}{comma}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn cpus_are_formatted_as_the_kernel_reads_them() {
        assert_eq!(mask(&[1]), "00000002");
        assert_eq!(mask(&[0, 31]), "80000001");
        assert_eq!(mask(&[64, 3]), "00000001,00000000,00000008");
        assert_eq!(mask(&[]), "00000000");
    }
}
