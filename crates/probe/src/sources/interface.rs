//! Network interfaces: /proc/net/dev, and the speed from sysfs. Source: proc_pid_net(5),
//! Documentation/networking/statistics.rst (which field includes which).

use std::path::Path;

use crate::Scope;
use crate::family::Family;
use crate::reread_file::{RereadFile, why};
use crate::source::{Round, Source, none};
use crate::text::{lines, name, number, value, words};
use crate::tree::Tree;

const IDS: &[&str] = &[
    "interface.rx_bytes",
    "interface.rx_packets",
    "interface.rx_errors",
    "interface.rx_drops",
    "interface.tx_bytes",
    "interface.tx_packets",
    "interface.tx_errors",
    "interface.tx_drops",
    "interface.collisions",
    "interface.speed",
];
const SPEED: usize = 9;
/// Maximum number of interfaces. Hosts with many containers have thousands of interfaces. The first interfaces in the
/// list are usually physical ones.
const MAX_INTERFACES: usize = 64;

struct Interface {
    file: RereadFile,
    all: Family,
    /// Speed of each interface in bytes per second, if known. The speed is read from sysfs when an interface first
    /// appears, and at each phase start and end.
    speeds: Vec<(Vec<u8>, Option<f64>)>,
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    Box::new(Interface {
        file: tree.keep_net("dev"),
        all: Family::new(IDS).at_most(MAX_INTERFACES),
        speeds: Vec::new(),
    })
}

impl Source for Interface {
    fn sample(&mut self, round: &mut Round<'_>) {
        let text = match self.file.read() {
            Ok(text) => text,
            Err(reason) => return none(round, &self.all, &reason),
        };
        if round.full {
            self.speeds.clear();
        }
        for line in lines(text) {
            let Some(colon) = line.iter().rposition(|b| *b == b':') else { continue };
            let (device, counts) = (line[..colon].trim_ascii(), &line[colon + 1..]);
            let Some(slots) = self.all.slots(round.writer, device) else { continue };
            let mut field = [None; 16];
            for (number, word) in field.iter_mut().zip(words(counts)) {
                *number = value(word);
            }
            // Receive fields: bytes packets errs drop fifo frame compressed multicast. Transmit fields: bytes packets
            // errs drop fifo colls carrier compressed.
            let rx_drops = field[3].zip(field[4]).map(|(drop, fifo)| drop + fifo);
            let told = [field[0], field[1], field[2], rx_drops, field[8], field[9], field[10], field[11], field[13]];
            for (at, value) in told.into_iter().enumerate() {
                round.writer.put_some(slots, at, value);
            }
            let speed = speed_of(&mut self.speeds, device, round);
            round.writer.put_some(slots, SPEED, speed);
        }
    }
}

fn speed_of(known: &mut Vec<(Vec<u8>, Option<f64>)>, device: &[u8], round: &mut Round<'_>) -> Option<f64> {
    if let Some((_, speed)) = known.iter().find(|(name, _)| name == device) {
        return *speed;
    }
    let told = read_speed(round.tree, &name(device));
    if let Err(reason) = &told {
        round.writer.absent("interface.speed", &name(device), format_args!("{reason}"));
    }
    known.push((device.to_vec(), told.clone().ok()));
    told.ok()
}

/// Returns the speed of an interface, converted from Mbit/s to bytes per second. Virtual interfaces (veth, tun) state a
/// nominal speed that nothing enforces. This function ignores a nominal speed, except for virtual interfaces that
/// represent physical interfaces (bond, vlan, team, or a bridge with such a port).
fn read_speed(tree: &Tree, device: &str) -> Result<f64, String> {
    if tree.netns_pid().is_some() {
        return Err("sysfs shows the interfaces of another network namespace".into());
    }
    let folder = tree.path(&format!("sys/class/net/{device}"));
    if !is_physical(&folder) && !has_physical_port(tree, &folder) {
        return Err("a virtual interface: nothing enforces the speed it states".into());
    }
    let path = folder.join("speed");
    match std::fs::read(&path) {
        Ok(text) => match number(text.trim_ascii()).filter(|mbit| *mbit > 0) {
            Some(mbit) => Ok(mbit as f64 * 125_000.0),
            None => Err("its driver does not know its speed".into()),
        },
        Err(e) if e.raw_os_error() == Some(22) => Err("its driver does not know its speed (link down?)".into()),
        Err(e) => Err(why(&path, &e)),
    }
}

/// Returns true for a physical interface, and for a virtual interface that represents physical interfaces. `folder` is
/// the interface's folder in sysfs.
fn is_physical(folder: &Path) -> bool {
    let uevent = std::fs::read_to_string(folder.join("uevent")).unwrap_or_default();
    let is_of = |kind: &str| uevent.contains(&format!("DEVTYPE={kind}"));
    folder.join("device").exists() || ["bond", "vlan", "team"].into_iter().any(is_of)
}

/// Returns true for a bridge with a physical port. A bridge of containers or of virtual machines has only virtual
/// ports, and states their nominal speed.
fn has_physical_port(tree: &Tree, folder: &Path) -> bool {
    let ports = std::fs::read_dir(folder.join("brif")).into_iter().flatten().flatten();
    let folder_of = |name: std::ffi::OsString| tree.path(&format!("sys/class/net/{}", name.to_string_lossy()));
    ports.map(|port| folder_of(port.file_name())).any(|port| is_physical(&port))
}

#[cfg(test)]
mod tests {
    use crate::testing::Tree;

    const DEV: &str = "Inter-|   Receive                |  Transmit\n face |bytes    packets errs drop fifo frame \
        compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    lo:    3193      29    0    \
        0    0     0          0         0     3193      29    0    0    0     0       0          0\n  eth0:263515699 9147 \
        1 2 3 4 0 0 633525 5789 5 6 7 8 9 0\n eth0:1: 9 odd\n";

    #[test]
    fn fields_of_both_directions_are_found() {
        let tree = Tree::new(&[
            ("proc/net/dev", DEV),
            ("sys/class/net/eth0/speed", "1000\n"),
            ("sys/class/net/eth0/device/vendor", ""),
            ("sys/class/net/lo/speed", "10000\n"),
        ]);
        let r = tree.sample("interface");
        let last = |id: &str| r.last(&format!("interface.{id}"), "eth0");
        assert_eq!((last("rx_bytes"), last("rx_packets")), (Some(263_515_699.0), Some(9147.0)));
        assert_eq!((last("rx_errors"), last("rx_drops")), (Some(1.0), Some(5.0)));
        assert_eq!((last("tx_bytes"), last("tx_packets")), (Some(633_525.0), Some(5789.0)));
        assert_eq!((last("tx_errors"), last("tx_drops"), last("collisions")), (Some(5.0), Some(6.0), Some(8.0)));
        assert_eq!(last("speed"), Some(125e6));
        assert_eq!((r.last("interface.speed", "lo"), r.last("interface.rx_packets", "eth0:1")), (None, None));
        assert!(r.0.absent.iter().any(|a| a.instance == "lo" && a.reason.contains("virtual")));
    }

    /// The bridge of Docker states the nominal speed of its virtual ports. The bridge of a host with virtual machines
    /// has a physical port, too.
    #[test]
    fn a_bridge_has_a_speed_only_with_a_physical_port() {
        let speed_of_bridge = |port: &str| {
            let files = [
                ("proc/net/dev", DEV),
                ("sys/class/net/eth0/speed", "10000\n"),
                ("sys/class/net/eth0/uevent", "DEVTYPE=bridge\n"),
                ("sys/class/net/eth0/brif/veth1/state", "3\n"),
                (port, "x"),
            ];
            Tree::new(&files).sample("interface").last("interface.speed", "eth0")
        };
        assert_eq!(speed_of_bridge("sys/class/net/veth1/address"), None);
        assert_eq!(speed_of_bridge("sys/class/net/veth1/device/vendor"), Some(1.25e9));
    }

    #[test]
    fn a_driver_without_speed_is_absent() {
        let files = [("proc/net/dev", DEV), ("sys/class/net/eth0/speed", "-1\n"), ("sys/class/net/eth0/device/x", "")];
        let r = Tree::new(&files).sample("interface");
        assert_eq!(r.last("interface.speed", "eth0"), None);
        assert!(r.0.absent.iter().any(|a| a.instance == "eth0" && a.reason.contains("driver")));
    }
}
