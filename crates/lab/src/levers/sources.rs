//! A lever (temporary change that an experiment makes) that doubles the number of source addresses of the load. With
//! twice as many addresses, a limit per source address lets twice as many requests through. The load without the lever
//! uses half of the addresses. If the number of addresses is odd, this load uses the smaller half, so the lever more
//! than doubles the number of addresses.

use std::net::{IpAddr, Ipv4Addr};

use run::{Intensity, LoadPlan, Prove, SOURCES_LEVER};

use super::lever::{Lever, LeverHost, LeverTargets, LoadPair, Pull};

pub(super) const ROW: Lever = Lever {
    id: SOURCES_LEVER,
    help: "sends from twice as many source addresses",
    tests: &["server-rate-limit", "client-ports"],
    needs: Prove::Default,
    always: false,
    slot_s: 0.0,
    planned: -1.0,
    rights: "none on loopback; elsewhere two addresses of this host (--source)",
    intrusion: "the server sees clients at other addresses",
    dose: "addresses with the lever over addresses without it",
    undo: "the connections end with their load",
    place: LeverHost::Load,
    pull: Pull::Turns(load_pair),
};

fn load_pair(targets: &LeverTargets, load: &LoadPlan) -> Result<LoadPair, String> {
    let all = match (load.sources.len(), targets.addr.map(|addr| addr.ip())) {
        (0 | 1, Some(IpAddr::V4(ip))) if ip.is_loopback() => loopback(load.sources.first().copied()),
        (0 | 1, _) => return Err("only one source address is known; name two of this host with --source".into()),
        _ => load.sources.clone(),
    };
    let half = all.len() / 2;
    let dose = 1.0 - all.len() as f64 / half as f64;
    let load = LoadPlan { intensity: enough(load.intensity.clone(), all.len()), ..load.clone() };
    let off = LoadPlan { sources: all[..half].to_vec(), ..load.clone() };
    Ok(LoadPair { off, on: LoadPlan { sources: all, ..load }, dose, change: None })
}

/// Minimum number of connections per source address under a closed loop. While the server's limit delays a request on
/// one connection, the address can send a request on its other connection.
const CONNECTIONS_PER_ADDRESS: u32 = 2;

/// Returns the load with enough connections for all addresses. A single connection uses only one address, even if the
/// plan names several.
fn enough(intensity: Intensity, addresses: usize) -> Intensity {
    let least = CONNECTIONS_PER_ADDRESS.saturating_mul(u32::try_from(addresses).unwrap_or(u32::MAX));
    match intensity {
        Intensity::Closed { connections, pipeline, think } => {
            Intensity::Closed { connections: connections.max(least), pipeline, think }
        }
        other => other,
    }
}

/// Returns two loopback addresses. The first address is `first`, if it is given. Every address of 127.0.0.0/8 belongs
/// to this host.
fn loopback(first: Option<IpAddr>) -> Vec<IpAddr> {
    let other = |n| IpAddr::V4(Ipv4Addr::new(127, 0, 0, n));
    let first = first.unwrap_or(other(1));
    vec![first, if first == other(2) { other(3) } else { other(2) }]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a real server with a limit per address, a load with only one connection had the same throughput from two
    /// addresses as from one.
    #[test]
    fn every_address_has_connections() {
        let targets = LeverTargets { addr: Some("127.0.0.1:80".parse().unwrap()), ..LeverTargets::default() };
        let connections = |connections| {
            let intensity = Intensity::Closed { connections, pipeline: 1, think: run::ThinkTime::default() };
            let pair = load_pair(&targets, &LoadPlan { intensity, ..LoadPlan::default() }).unwrap();
            [pair.off, pair.on].map(|load| load.intensity.in_flight().unwrap_or(0.0))
        };
        assert_eq!((connections(1), connections(8)), ([4.0, 4.0], [8.0, 8.0]));
    }

    #[test]
    fn on_loopback_there_is_always_another_address() {
        let targets = |addr: &str| LeverTargets { addr: Some(addr.parse().unwrap()), ..LeverTargets::default() };
        let made = load_pair(&targets("127.0.0.1:80"), &LoadPlan::default()).unwrap();
        assert_eq!((made.off.sources.len(), made.on.sources.len(), made.dose), (1, 2, -1.0));
        assert!(load_pair(&targets("192.0.2.1:80"), &LoadPlan::default()).unwrap_err().contains("--source"));
        let four: Vec<IpAddr> = (1..5).map(|n| IpAddr::V4(Ipv4Addr::new(192, 0, 2, n))).collect();
        let made = load_pair(&targets("192.0.2.9:80"), &LoadPlan { sources: four, ..LoadPlan::default() }).unwrap();
        assert_eq!((made.off.sources.len(), made.on.sources.len()), (2, 4));
    }
}
