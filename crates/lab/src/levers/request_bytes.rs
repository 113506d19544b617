//! Makes requests longer during an experiment, so each exchange sends a third more bytes over the link in the direction
//! of the requests. If the link is full in the direction of the requests, a quarter fewer requests fit.

use judge::prove::RequestWay;
use run::{LoadPlan, Prove};

use super::lever::{Lever, LeverHost, LeverTargets, LoadPair, Pull};

pub(super) const ROW: Lever = Lever {
    id: "request-bytes",
    help: "pads requests with a header, so that an exchange puts a third more bytes on the link",
    tests: &["network-medium"],
    needs: Prove::Default,
    always: false,
    slot_s: 0.0,
    planned: DOSE,
    rights: "none; needs HTTP/1.1 requests that share the full direction of the link",
    intrusion: "the server reads a header X-Padding of up to 8,000 bytes",
    dose: "added bytes over all bytes in the requests' direction, framing included",
    undo: "the connections end with their load",
    place: LeverHost::Load,
    pull: Pull::Turns(load_pair),
};

/// Added bytes as a share of all bytes that a longer exchange sends over the link in the direction of the requests.
const DOSE: f64 = 0.25;
/// Maximum number of added bytes. Servers usually accept header lines of up to 8 KiB.
const MAX_PADDING_BYTES: f64 = 8_000.0;
/// Overhead of a segment in bytes (Ethernet with framing 38, IPv4 20, TCP with timestamps 32), and its payload in
/// bytes.
const SEGMENT_BYTES: (f64, f64) = (90.0, 1_448.0);

fn load_pair(targets: &LeverTargets, load: &LoadPlan) -> Result<LoadPair, String> {
    let bytes = match targets.request_way {
        RequestWay::Bytes(bytes) => bytes,
        RequestWay::OfAnswers => return Err("answers fill the link, and requests go the other way".into()),
        RequestWay::NotSeen => return Err("the bytes of an exchange on the link are unknown".into()),
    };
    let wanted = bytes * DOSE / (1.0 - DOSE) / (1.0 + SEGMENT_BYTES.0 / SEGMENT_BYTES.1);
    if wanted > MAX_PADDING_BYTES {
        return Err(format!("an exchange puts {bytes:.0} bytes on the link, too many for a header to add a third"));
    }
    let (mut on, row) = (load.clone(), proto::spec(&load.protocol));
    if load.requests.is_some() || !(row.pad)(&mut on.protocol, wanted as usize) {
        return Err("only identical HTTP/1.1 requests can be padded".into());
    }
    Ok(LoadPair { off: load.clone(), on, dose: DOSE, change: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_padded_until_an_exchange_is_a_third_longer() {
        let targets = |request_way| LeverTargets { request_way, ..LeverTargets::default() };
        let made = load_pair(&targets(RequestWay::Bytes(15_380.0)), &LoadPlan::default()).unwrap();
        let (name, padding) = &made.on.protocol.http().unwrap().headers[0];
        let added = format!("{name}: {padding}\r\n").len() as f64 * 1_538.0 / 1_448.0;
        assert!((added / 15_380.0 - 1.0 / 3.0).abs() < 0.01 && made.dose == 0.25, "{added}");
        assert!(made.off.protocol.http().unwrap().headers.is_empty());
        let refused = |way| load_pair(&targets(way), &LoadPlan::default()).unwrap_err();
        assert!(refused(RequestWay::Bytes(30_000.0)).contains("too many"));
        assert!(refused(RequestWay::OfAnswers).contains("requests go the other way"));
        assert!(refused(RequestWay::NotSeen).contains("are unknown"));
        let protocol = run::Protocol::Raw { send_file: None, expect_bytes: None, read_first: None };
        let other = LoadPlan { protocol, ..LoadPlan::default() };
        assert!(load_pair(&targets(RequestWay::Bytes(900.0)), &other).unwrap_err().contains("HTTP/1.1"));
    }
}
