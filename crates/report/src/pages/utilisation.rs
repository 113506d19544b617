//! Chart of the utilization of devices in the trial that the verdict describes, with one bar per device.

use run::{LoadState, Run};

use super::pick;
use crate::{BarRow, Bars, Block, Hue, Section, Segment, Unit, Weight};
use run::number::quantity;

/// Maximum number of devices in the chart of utilizations.
const SHOWN: usize = 14;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(trial) = run.picked(|p| p.shown) else { return Vec::new() };
    let devices = run.findings.picks.shown.and_then(|at| run.findings.devices.get(at)).map_or(&[][..], Vec::as_slice);
    let Some(first) = devices.first() else { return Vec::new() };
    let title = format!("Busiest: {}, {} of the time", first.name(), quantity(first.busy, Unit::Share));
    let rows = devices.iter().take(SHOWN).map(|d| {
        let hue = match d.side {
            "server" => Hue::Main,
            "client" => Hue::Second,
            _ => Hue::Third,
        };
        let segment = Segment { label: d.side.into(), value: d.busy, hue };
        BarRow { label: d.name(), segments: vec![segment], strong: d.full }
    });
    let heading =
        if run.findings.state == Some(LoadState::Saturated) { "Utilisation at saturation" } else { "Utilisation" };
    let bars = Bars {
        title,
        caption: format!("How much of its time or its limit each device was in use, at {}.", pick::name(trial)),
        unit: Unit::Share,
        rows: rows.collect(),
        full: Some(1.0),
        wide: true,
        terminal_only: false,
    };
    vec![Section::new("utilisation", heading, Weight::Full, vec![Block::Bars(bars)])]
}
