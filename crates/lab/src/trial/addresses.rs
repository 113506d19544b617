//! Chooses among the addresses of a host name. The choice is the first address that accepts a connection, as in other
//! clients (RFC 8305), or all addresses that accept a connection. Unlike RFC 8305, loadline tries the addresses one
//! after the other. Trying all addresses simultaneously would open connections to the measured server only to close
//! them immediately.

use std::net::SocketAddr;

use run::{Address, AddressChoice, LoadPlan, ServerQuestion};

use crate::trial::asker::Asker;
use crate::trial::authorized::check_authorized;
use crate::trial::target::{ParsedTarget, Resolved};
use crate::{Lab, LabError};

/// Returns the target with the addresses to connect to. `--connect-to` replaces the host and port of the URL, and
/// `--resolve` replaces the lookup. The run gets a note if `--connect-to` or `--resolve` is used, and a warning if no
/// entry of the two options matches the target.
pub(super) fn look_up(lab: &mut Lab<'_>, parsed: ParsedTarget, asker: &Asker<'_>) -> Result<Resolved, LabError> {
    let target = lab.run.plan.target.clone();
    let mut used = false;
    let found = parsed.resolved(|host, port| {
        let elsewhere = target.destination(host, port);
        let (host, port) = elsewhere.clone().unwrap_or_else(|| (host.to_owned(), port));
        let fixed = target.fixed_addresses(&host, port);
        used = elsewhere.is_some() || fixed.is_some();
        fixed.map_or_else(|| asker.look_up(lab, &host, port), Ok)
    })?;
    if used {
        lab.note(format!("connections go to {}, by --connect-to or --resolve", found.addr));
    } else if !target.connect_to.is_empty() || !target.resolve.is_empty() {
        lab.warn(
            "--connect-to and --resolve change nothing: none of their entries matches the host and port of the URL",
        );
    }
    Ok(found)
}

/// Chooses addresses of the target. Stores the first chosen address in `addr` and the other chosen addresses in
/// `others`, and tells the user which addresses are not loaded. Tries only addresses that the user may load.
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
    let accepts = |addr: &SocketAddr| asker.ask(lab, ServerQuestion::Accepts, &Address::from(*addr), &plan);
    let connect = |addr: &SocketAddr| accepts(addr).error.map_or(Ok(()), Err);
    let wanted = match target.addresses {
        AddressChoice::First => 1,
        AddressChoice::All => run::MAX_ADDRESSES,
    };
    let (mut answering, failed) = that_answer(&candidates, wanted, connect);
    if answering.is_empty() {
        let each: Vec<String> = failed.iter().map(|(addr, why)| format!("{addr} ({why})")).collect();
        let why = format!(
            "none of its addresses accepts a connection: {}; start the server or correct the port",
            each.join(", ")
        );
        return Err(LabError::Preflight { target: target.url, why });
    }
    lab.announce(described(&answering, &all, &failed));
    found.addr = answering.remove(0).into();
    found.others = answering;
    Ok(())
}

/// Returns the first `wanted` addresses to which `connect` succeeds, and the errors of the addresses that failed
/// before.
fn that_answer(
    all: &[SocketAddr],
    wanted: usize,
    connect: impl Fn(&SocketAddr) -> Result<(), String>,
) -> (Vec<SocketAddr>, Vec<(SocketAddr, String)>) {
    let (mut answering, mut failed) = (Vec::new(), Vec::new());
    for addr in all {
        if answering.len() >= wanted {
            break;
        }
        match connect(addr) {
            Ok(()) => answering.push(*addr),
            Err(e) => failed.push((*addr, e)),
        }
    }
    (answering, failed)
}

/// Describes for the user which addresses were chosen.
fn described(chosen: &[SocketAddr], all: &[SocketAddr], failed: &[(SocketAddr, String)]) -> String {
    let others = all.iter().filter(|addr| !chosen.contains(addr)).map(|addr| {
        let why = failed.iter().find(|(tried, _)| tried == addr).map(|(_, why)| format!(" ({why})"));
        format!("{addr}{}", why.unwrap_or_default())
    });
    let others: Vec<String> = others.collect();
    let loaded: Vec<String> = chosen.iter().map(ToString::to_string).collect();
    let are = if loaded.len() == 1 { "is" } else { "are" };
    let not = if others.is_empty() { String::new() } else { format!(", not {}", others.join(", ")) };
    format!("the name has {} addresses: {} {are} loaded{not}", all.len(), loaded.join(", "))
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
        let (chosen, failed) = that_answer(&all, 1, only(1));
        assert_eq!((&chosen, failed.len()), (&vec![all[1]], 1));
        let words = described(&chosen, &all, &failed);
        assert!(words.contains("10.0.0.1:80 is loaded, not [::1]:80 (connection refused), 10.0.0.2:80"), "{words}");
        assert_eq!(that_answer(&all, 1, only(9)).1.len(), 3);
        assert_eq!(that_answer(&all, 1, |_| Ok(())), (vec![all[0]], Vec::new()));
        let (chosen, failed) = that_answer(&all, 9, only(1));
        assert_eq!((&chosen, failed.len()), (&vec![all[1]], 2));
        let words = described(&all, &all, &[]);
        assert!(words.ends_with("[::1]:80, 10.0.0.1:80, 10.0.0.2:80 are loaded"), "{words}");
    }
}
