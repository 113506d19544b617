//! Network paths of HTTP/3 connections: round-trip time, congestion window and lost packets. The kernel does not count
//! QUIC connections, so the figures come from loadline's generator, which is one end of each connection.

use run::{QuicPaths, Run, Trial};

use super::{latency, pick};
use crate::{AnswerLine, Block, Cell, Col, Section, Table, Unit, Weight};
use run::number::{count, prose::counted, quantity};

/// Returns the section about the network paths in the main trials, which are also the trials of the section about
/// response times.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let mains = latency::main_trials(run);
    let rows: Vec<Vec<Cell>> =
        mains.iter().filter_map(|(name, trial)| Some(row(name, trial, trial.quic.as_ref()?))).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let table = Table {
        caption: "Means over the connections, seen by the generator.".into(),
        columns: vec![
            Col::words("load", 0),
            Col::figures("connections", 1),
            Col::figures("RTT", 0),
            Col::figures("smallest RTT", 2),
            Col::figures("congestion window", 0),
            Col::figures("packets sent", 3),
            Col::figures("packets lost", 0),
        ],
        rows,
        ..Table::default()
    };
    vec![Section::new("quic", "QUIC connections", Weight::Main, vec![Block::Table(table)])]
}

fn row(name: &str, trial: &Trial, paths: &QuicPaths) -> Vec<Cell> {
    vec![
        format!("{name} ({})", pick::name(trial)).into(),
        count(paths.connections).into(),
        quantity(paths.rtt_us, Unit::Micros).into(),
        quantity(paths.min_rtt_us, Unit::Micros).into(),
        quantity(paths.congestion_window_bytes, Unit::Bytes).into(),
        count(paths.sent_packets).into(),
        lost(paths).into(),
    ]
}

/// Returns the summary line about the QUIC connections of a load; `None` for protocols without QUIC.
pub(super) fn line(trial: &Trial) -> Option<AnswerLine> {
    let paths = trial.quic.as_ref()?;
    let detail = format!(
        "in {}, congestion window {}, packets lost: {}",
        counted(paths.connections as f64, "connection"),
        quantity(paths.congestion_window_bytes, Unit::Bytes),
        lost(paths),
    );
    let value = format!("RTT {}", quantity(paths.rtt_us, Unit::Micros));
    Some(AnswerLine::new("QUIC", value, detail).leading("quic"))
}

/// Returns a text such as `12 (0.35 %)`: the number of lost packets, and their share of the sent packets. Without lost
/// packets, the text is `none`.
fn lost(paths: &QuicPaths) -> String {
    if paths.lost_packets == 0 {
        return "none".into();
    }
    // In a damaged file, packets may be lost although none was sent.
    let share = paths.lost_packets as f64 / paths.sent_packets.max(paths.lost_packets) as f64;
    format!("{} ({})", count(paths.lost_packets), quantity(share, Unit::Share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(quic: Option<QuicPaths>) -> Run {
        let mut trial = Trial { quic, label: "8 connections".into(), ..Trial::default() };
        trial.latency_us.count = 9;
        let mut run = Run { trials: vec![trial], ..Run::default() };
        run.findings.picks.loaded = Some(0);
        run
    }

    #[test]
    fn paths_are_shown_only_for_quic() {
        let paths = QuicPaths {
            connections: 8,
            rtt_us: 320.0,
            min_rtt_us: 95.0,
            congestion_window_bytes: 14_520.0,
            sent_packets: 3_400,
            lost_packets: 17,
            ..QuicPaths::default()
        };
        let run = run(Some(paths));
        for form in ["text", "html", "markdown"] {
            let text = crate::render(form, &run, &crate::Style::default()).unwrap();
            let wanted = ["QUIC connections", "320 µs", "14.5 kB", "17 (0.5 %)"];
            assert!(wanted.iter().all(|part| text.contains(part)), "{form}: {text}");
        }
        let line = line(&run.trials[0]).unwrap();
        assert_eq!(line.value, "RTT 320 µs");
        assert_eq!(line.detail, "in 8 connections, congestion window 14.5 kB, packets lost: 17 (0.5 %)");
    }

    #[test]
    fn other_protocols_have_no_paths_and_nothing_lost_is_said_in_words() {
        let other = run(None);
        assert!(sections(&other).is_empty() && line(&other.trials[0]).is_none());
        assert_eq!(lost(&QuicPaths::default()), "none");
        assert_eq!(lost(&QuicPaths { lost_packets: 3, ..QuicPaths::default() }), "3 (100 %)");
    }
}
