//! Cost of TLS: CPU time per handshake on both sides, and bytes on the wire compared with the bytes of the answers.

use run::{CpuEstimate, HandshakeCost, Run, Trial};

use crate::{Block, Cell, Col, Section, Table, Unit, Weight};
use run::number::prose::counted;
use run::number::quantity;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    if run.plan.load.tls.is_none() {
        return Vec::new();
    }
    let found = run.findings.tls_handshake_cpu_us.as_ref();
    let mut rows: Vec<Vec<Cell>> = found.into_iter().flat_map(handshake).collect();
    let shown = run.picked(|p| p.loaded);
    rows.extend(shown.and_then(early_data));
    rows.extend(shown.and_then(wire));
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = vec![Col::words("what", 0), Col::figures("figure", 0), Col::words("how", 1)];
    let table = Table { columns, rows, ..Table::default() };
    vec![Section::new("tls", "What TLS costs", Weight::Full, vec![Block::Table(table)])]
}

fn handshake(cost: &HandshakeCost) -> Vec<Vec<Cell>> {
    let more = if cost.with_request { " and its request" } else { "" };
    let apart = cost.server_resumed.is_some() || cost.client_resumed.is_some();
    let first = if apart || cost.resumed == 0.0 { "full handshake" } else { "handshake" };
    let kinds = match cost.resumed {
        share if share > 0.0 => format!("{} resumed", quantity(share, Unit::Share)),
        _ => "full".into(),
    };
    let how = format!("{}, {kinds}; {}", counted(cost.handshakes as f64, "handshake"), cost.how);
    let all = [
        (first, "server", cost.server),
        (first, "client", cost.client),
        ("resumed handshake", "server", cost.server_resumed),
        ("resumed handshake", "client", cost.client_resumed),
    ];
    let known = all.into_iter().filter_map(|(what, side, told)| Some((what, side, told?)));
    known
        .enumerate()
        .map(|(at, (what, side, told))| {
            let how = if at == 0 { how.clone() } else { "as above".into() };
            vec![Cell::new(format!("{what}{more}, {side} CPU")), Cell::new(time(told)), Cell::new(how)]
        })
        .collect()
}

fn time(told: CpuEstimate) -> String {
    let us = |us: f64| quantity(us, Unit::Micros);
    let within = told.low.zip(told.high).map(|(low, high)| format!(" ({} to {})", us(low.max(0.0)), us(high)));
    format!("{}{}", us(told.us), within.unwrap_or_default())
}

/// Returns the table row about early data: requests that were sent before the handshake ended. Returns `None` if no
/// request was sent as early data.
fn early_data(trial: &Trial) -> Option<Vec<Cell>> {
    let tally = &trial.measured.tally;
    if tally.early_requests + tally.early_resent == 0 {
        return None;
    }
    let figure = counted(tally.early_requests as f64, "request");
    let how = match tally.early_resent {
        0 => "sent in the first packets of resumed connections (0-RTT); the server processed all of them".into(),
        resent => format!(
            "sent in the first packets of resumed connections (0-RTT); {} sent again after the handshake, because the \
             server rejected early data",
            counted(resent as f64, "request")
        ),
    };
    Some(vec![Cell::new("early data"), Cell::new(figure), Cell::new(how)])
}

/// Returns the table row that compares the bytes on the wire per answer with the bytes of the answer itself. Returns
/// `None` if the protocol does not count the bytes of answers.
fn wire(trial: &Trial) -> Option<Vec<Cell>> {
    let tally = &trial.measured.tally;
    if tally.answer_bytes == 0 || tally.completed == 0 {
        return None;
    }
    let each = |bytes: u64| bytes as f64 / tally.completed as f64;
    let wire = each(tally.bytes_received.saturating_sub(tally.handshake_bytes_received));
    let answer = each(tally.answer_bytes);
    let figure = format!("{} for {}", quantity(wire, Unit::Bytes), quantity(answer, Unit::Bytes));
    let more = (wire / answer - 1.0).max(0.0);
    let how = format!(
        "received per answer, without handshakes; TLS records and protocol framing add {}",
        quantity(more, Unit::Share)
    );
    Some(vec![Cell::new("bytes on the wire"), Cell::new(figure), Cell::new(how)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Measured, Tally};

    #[test]
    fn handshakes_and_bytes_are_shown_only_with_tls() {
        let tally = Tally {
            completed: 100,
            bytes_received: 15_000,
            handshake_bytes_received: 3_000,
            answer_bytes: 10_000,
            ..Tally::default()
        };
        let measured = Measured { tally, ..Measured::default() };
        let mut run = Run { trials: vec![Trial { measured, ..Trial::default() }], ..Run::default() };
        run.findings.picks.loaded = Some(0);
        assert!(sections(&run).is_empty());
        run.plan.load.tls = Some(run::TlsPlan::default());
        run.findings.tls_handshake_cpu_us = Some(HandshakeCost {
            server: Some(CpuEstimate { us: 800.0, low: Some(700.0), high: Some(900.0) }),
            client_resumed: Some(CpuEstimate { us: 40.0, ..CpuEstimate::default() }),
            how: "in turns".into(),
            handshakes: 1234,
            ..HandshakeCost::default()
        });
        let [Section { blocks, .. }] = &sections(&run)[..] else { panic!("one section") };
        let [Block::Table(table)] = &blocks[..] else { panic!("one table") };
        let text: Vec<String> = table.rows.iter().flatten().map(|c| c.text.clone()).collect();
        assert_eq!(text[1], "800 µs (700 µs to 900 µs)");
        assert!(text[2].contains("1,234") && text[2].contains("full") && text[2].contains("in turns"), "{text:?}");
        assert_eq!((&*text[0], &*text[3]), ("full handshake, server CPU", "resumed handshake, client CPU"));
        assert_eq!(text[7], "120 B for 100 B");
        assert!(text[8].contains("add 20 %"), "{text:?}");
        let tally = &mut run.trials[0].measured.tally;
        (tally.early_requests, tally.early_resent) = (90, 1);
        let row: Vec<String> = early_data(&run.trials[0]).unwrap().into_iter().map(|cell| cell.text).collect();
        assert_eq!((&*row[0], &*row[1]), ("early data", "90 requests"));
        assert!(row[2].contains("1 request sent again"), "{row:?}");
    }
}
