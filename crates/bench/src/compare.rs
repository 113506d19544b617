//! Interleaved rounds and medians: the only way this program compares two things.

use anyhow::Result;

/// What a row measured.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// Ours, one figure a round.
    pub(crate) ours: Vec<f64>,
    /// The peer's, one figure a round; empty where the row is an absolute limit.
    pub(crate) peer: Vec<f64>,
    /// What the figures are.
    pub(crate) unit: &'static str,
    /// What else a reader should know.
    pub(crate) note: String,
}

impl Compared {
    /// Ours over the peer's, by medians; ours alone where there is no peer.
    pub(crate) fn ratio(&self) -> f64 {
        if self.peer.is_empty() { median(&self.ours) } else { median(&self.ours) / median(&self.peer) }
    }

    /// Smallest and largest ratio of a round.
    pub(crate) fn spread(&self) -> (f64, f64) {
        let ratios: Vec<f64> = match self.peer.is_empty() {
            true => self.ours.clone(),
            false => self.ours.iter().zip(&self.peer).map(|(a, b)| a / b).collect(),
        };
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        (low, ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }
}

/// The middle value; NaN when there is none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Runs ours and the peer in turn; who goes first changes every round, so a drift of the machine favours nobody.
/// One round before the counted ones warms caches and is thrown away.
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
    fn medians_of_odd_and_even_counts() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_order_changes_and_the_warm_up_is_thrown_away() {
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
