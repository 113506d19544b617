//! Chooses one of the addresses of a host name: the first one that accepts a connection, as in other clients (RFC
//! 8305). Unlike RFC 8305, loadline tries the addresses one after the other. Simultaneous tries would open connections
//! to the measured server and close them at once.

use std::net::SocketAddr;

use run::{Address, LoadPlan, ServerQuestion};

use crate::trial::asker::Asker;
use crate::trial::target::{Resolved, check_authorized};
use crate::{Lab, LabError};

/// Sets the address of a target and notes the others. Only addresses that the user may load are tried.
pub(super) fn choose(lab: &mut Lab<'_>, found: &mut Resolved, asker: &Asker<'_>) -> Result<(), LabError> {
    let target = lab.run.plan.target.clone();
    let Some(first) = found.addr.inet().filter(|_| !found.others.is_empty()) else {
        return check_authorized(&target.url, &found.addr, target.authorized);
    };
    let all: Vec<SocketAddr> = std::iter::once(first).chain(found.others.iter().copied()).collect();
    let allowed = |addr: &&SocketAddr| check_authorized(&target.url, &(**addr).into(), target.authorized).is_ok();
    let candidates: Vec<SocketAddr> = all.iter().filter(allowed).copied().collect();
    if candidates.is_empty() {
        return check_authorized(&target.url, &found.addr, target.authorized);
    }
    let plan = LoadPlan { connect_timeout_s: lab.run.plan.load.connect_timeout_s, ..LoadPlan::default() };
    let connect =
        |addr: &SocketAddr| asker.ask(ServerQuestion::Accepts, &Address::from(*addr), &plan).error.map_or(Ok(()), Err);
    let (chosen, failed) = first_that_answers(&candidates, connect);
    let Some(chosen) = chosen else {
        let each: Vec<String> = failed.iter().map(|(addr, why)| format!("{addr} ({why})")).collect();
        let why = format!(
            "none of its addresses accepts a connection: {}; start the server or correct the port",
            each.join(", ")
        );
        return Err(LabError::Preflight { target: target.url, why });
    };
    lab.announce(described(chosen, &all, &failed));
    found.addr = chosen.into();
    Ok(())
}

/// Returns the first address to which `connect` succeeds, and the errors of the addresses before it.
fn first_that_answers(
    all: &[SocketAddr],
    connect: impl Fn(&SocketAddr) -> Result<(), String>,
) -> (Option<SocketAddr>, Vec<(SocketAddr, String)>) {
    let mut failed = Vec::new();
    for addr in all {
        match connect(addr) {
            Ok(()) => return (Some(*addr), failed),
            Err(e) => failed.push((*addr, e)),
        }
    }
    (None, failed)
}

/// Describes which address was chosen.
fn described(chosen: SocketAddr, all: &[SocketAddr], failed: &[(SocketAddr, String)]) -> String {
    let others = all.iter().filter(|addr| **addr != chosen).map(|addr| {
        let why = failed.iter().find(|(tried, _)| tried == addr).map(|(_, why)| format!(" ({why})"));
        format!("{addr}{}", why.unwrap_or_default())
    });
    let others: Vec<String> = others.collect();
    format!("the name has {} addresses: {chosen} is loaded, not {}", all.len(), others.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_address_that_answers_is_taken() {
        let all: Vec<SocketAddr> = ["[::1]:80", "10.0.0.1:80", "10.0.0.2:80"].map(|addr| addr.parse().unwrap()).into();
        let only = |good: usize| {
            let all = all.clone();
            move |addr: &SocketAddr| {
                if all.get(good) == Some(addr) { Ok(()) } else { Err("connection refused".to_owned()) }
            }
        };
        let (chosen, failed) = first_that_answers(&all, only(1));
        assert_eq!((chosen, failed.len()), (Some(all[1]), 1));
        let words = described(all[1], &all, &failed);
        assert!(words.contains("10.0.0.1:80 is loaded, not [::1]:80 (connection refused), 10.0.0.2:80"), "{words}");
        assert_eq!(first_that_answers(&all, only(9)).1.len(), 3);
        assert_eq!(first_that_answers(&all, |_| Ok(())), (Some(all[0]), Vec::new()));
    }
}
