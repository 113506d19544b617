//! Published points: `series,x,y` lines of the files in `data/`. Lines that begin with `#` say where they are from.

/// A point that a source printed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// The line it belongs to.
    pub(super) series: String,
    /// Where.
    pub(super) x: f64,
    /// How much.
    pub(super) y: f64,
}

/// The points of a file; lines that are none are left out (a test keeps the files right).
pub(super) fn points(csv: &str) -> Vec<Point> {
    csv.lines().filter(|l| !l.starts_with('#')).skip(1).filter_map(point).collect()
}

fn point(line: &str) -> Option<Point> {
    let mut fields = line.rsplitn(3, ',');
    let y = fields.next()?.trim().parse().ok()?;
    let x = fields.next()?.trim().parse().ok()?;
    Some(Point { series: fields.next()?.trim().trim_matches('"').into(), x, y })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_every_file_is_a_point() {
        for figure in super::super::table::FIGURES.iter().filter(|f| !f.published.is_empty()) {
            let lines = figure.published.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()).count();
            assert_eq!(points(figure.published).len() + 1, lines, "{}: {}", figure.experiment, figure.title);
            assert!(lines > 1, "{}: no points", figure.title);
            assert!(figure.published.lines().any(|l| l == "series,x,y"), "{}", figure.title);
        }
    }
}
