//! Fitted curves: every coefficient with its interval, and the quality of the fit.

use run::{Fit, Run};

use crate::{Block, Cell, Col, Section, Table, Weight};
use run::number::number;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let fits = &run.findings.fits;
    let rows: Vec<Vec<Cell>> = fits.iter().flat_map(|(name, fit)| rows(name, fit)).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    // Fitted curves are a main result of an experiment. In runs other than experiments, fitted curves are only an aid,
    // so their section matters less.
    let weight = if run.plan.experiment().is_some() { Weight::Main } else { Weight::Full };
    let columns = vec![
        Col::words("fit", 0),
        Col::words("coefficient", 0),
        Col::figures("value", 0),
        Col::figures("95 % interval", 1),
        Col::figures("R²", 0),
        Col::figures("points", 3),
        Col::words("formula", 5),
        Col::words("quality", 5),
    ];
    let table = Table { columns, rows, ..Table::default() };
    vec![Section::new("fits", "Fitted curves", weight, vec![Block::Table(table)])]
}

/// Returns one row per coefficient. Each row begins with the curve's name, and the first row also has the figures of
/// the whole curve.
fn rows(name: &str, fit: &Fit) -> Vec<Vec<Cell>> {
    let row = |(i, (coefficient, value)): (usize, (&String, &f64))| {
        let interval = fit.intervals.get(coefficient);
        let interval = interval.map_or_else(
            || Cell::absent("no interval was computed"),
            |between| Cell::new(format!("{} to {}", number(between.low), number(between.high))),
        );
        let once = |text: String| if i == 0 { Cell::new(text) } else { Cell::default() };
        vec![
            Cell::new(name),
            Cell::new(coefficient.clone()),
            Cell::new(number(*value)),
            interval,
            once(quality(fit.r2)),
            once(fit.points.to_string()),
            once(fit.formula.clone()),
            once(fit.quality.clone()),
        ]
    };
    fit.coefficients.iter().enumerate().map(row).collect()
}

/// Formats R² with five decimals, because three would round 0.9996 to 1.
fn quality(r2: f64) -> String {
    if r2.is_finite() { format!("{r2:.5}") } else { "n/a".into() }
}
