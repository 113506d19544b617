//! How figures read in the sentences of these studies.

/// Microseconds, as milliseconds from one on.
pub(super) fn us(v: f64) -> String {
    match v.abs() {
        a if !a.is_finite() => "unknown".into(),
        a if a >= 1000.0 => format!("{:.2} ms", v / 1000.0),
        a if a >= 100.0 => format!("{v:.0} µs"),
        _ => format!("{v:.1} µs"),
    }
}

/// A share in percent.
pub(super) fn percent(v: f64) -> String {
    if v.is_finite() { format!("{:.1} %", v * 100.0) } else { "unknown".into() }
}

/// Bytes per second.
pub(super) fn rate(v: f64) -> String {
    match v.abs() {
        a if !a.is_finite() => "unknown".into(),
        a if a >= 1e6 => format!("{:.3} MB/s", v / 1e6),
        _ => format!("{:.1} kB/s", v / 1e3),
    }
}

/// A figure, or that it is not known.
pub(super) fn plain(v: f64) -> String {
    match v.abs() {
        a if !a.is_finite() => "unknown".into(),
        a if a >= 100.0 => format!("{v:.0}"),
        _ => format!("{v:.2}"),
    }
}
