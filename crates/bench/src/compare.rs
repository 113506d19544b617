//! Measures loadline and a peer (usually another program) alternately, for several rounds. The result of a row is the
//! ratio of the medians over the rounds.

use anyhow::Result;

/// Figures that were measured for one row of the result table.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Measured figures of loadline, one per round of the benchmark.
    pub(crate) ours: Vec<f64>,
    /// Measured figures of the peer (the program that loadline is compared with), one per round; empty if the row has
    /// no peer.
    pub(crate) peer: Vec<f64>,
    /// Unit of the figures.
    pub(crate) unit: &'static str,
    /// Further information about the measurement, shown in the table's last column.
    pub(crate) note: String,
}

impl Compared {
    /// Returns a single figure without a peer.
    pub(crate) fn single(figure: f64, unit: &'static str, note: impl Into<String>) -> Self {
        Self { ours: vec![figure], unit, note: note.into(), ..Self::default() }
    }

    /// Returns `count` as a percentage of `all`. The note gives both counts, followed by `more`.
    pub(crate) fn percentage(count: usize, all: usize, more: &str) -> Self {
        Self::single(100.0 * count as f64 / all.max(1) as f64, "%", format!("{count} of {all}{more}"))
    }

    /// Returns loadline's median divided by the peer's median; loadline's median if there is no peer.
    pub(crate) fn ratio(&self) -> f64 {
        if self.peer.is_empty() { median(&self.ours) } else { median(&self.ours) / median(&self.peer) }
    }

    /// Returns the smallest and the largest ratio of a single round: loadline's figure divided by the peer's. Without a
    /// peer, returns loadline's smallest and largest figure.
    pub(crate) fn spread(&self) -> (f64, f64) {
        let ratios: Vec<f64> = match self.peer.is_empty() {
            true => self.ours.clone(),
            false => self.ours.iter().zip(&self.peer).map(|(a, b)| a / b).collect(),
        };
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        (low, ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }
}

/// Returns the median, or NaN if there are no values.
pub(crate) fn median(values: &[f64]) -> f64 {
    stats::number::median(values.to_vec()).unwrap_or(f64::NAN)
}

/// Measures loadline alone, once per round.
pub(crate) fn alone(rounds: usize, unit: &'static str, mut measure: impl FnMut() -> Result<f64>) -> Result<Compared> {
    let ours = (0..rounds).map(|_| measure()).collect::<Result<_>>()?;
    Ok(Compared { ours, unit, ..Compared::default() })
}

/// Measures loadline and the peer alternately. Each round reverses the order, so a drift of the machine's speed favours
/// neither program. An additional first round only warms caches and is discarded.
pub(crate) fn interleave(
    rounds: usize,
    unit: &'static str,
    mut ours: impl FnMut() -> Result<f64>,
    mut peer: impl FnMut() -> Result<f64>,
) -> Result<Compared> {
    let mut compared = Compared { unit, ..Compared::default() };
    ours()?;
    peer()?;
    for round in 0..rounds {
        let (a, b) = if round % 2 == 0 {
            let a = ours()?;
            (a, peer()?)
        } else {
            let b = peer()?;
            (ours()?, b)
        };
        compared.ours.push(a);
        compared.peer.push(b);
    }
    Ok(compared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_alternates_and_the_warm_up_is_discarded() {
        let order = std::cell::RefCell::new(String::new());
        let side = |name: char| order.borrow_mut().push(name);
        let compared = interleave(
            2,
            "",
            || {
                side('a');
                Ok(1.0)
            },
            || {
                side('b');
                Ok(2.0)
            },
        );
        let compared = compared.unwrap();
        assert_eq!((order.into_inner().as_str(), compared.ours.len()), ("ababba", 2));
        assert_eq!(compared.ratio(), 0.5);
    }
}
