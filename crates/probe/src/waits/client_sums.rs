//! Mean numbers of client connections over all rounds of the wait sampler. Some rounds of the wait sampler do not read
//! the connections of clients.

use run::ClientConnections;

/// Sums over all rounds of the counts in a [`super::round::ConnectionSample`]. Between two readings, each count is
/// assumed to change evenly. With this assumption, the mean numbers of requests cover all rounds, like the mean numbers
/// of threads, even while the load grows.
#[derive(Debug, Default)]
pub(super) struct ClientSums {
    readings: u64,
    max_open: f64,
    /// Sums until the round of the last reading.
    sums: [f64; 5],
    /// Number of rounds until the last reading, and the counts of this reading.
    last: Option<(u64, [f64; 5])>,
}

impl ClientSums {
    /// Adds the counts of clients' connections from one reading. `rounds` is the number of rounds so far, including the
    /// round of this reading. The first reading is also used for the rounds before it.
    pub(super) fn add(&mut self, rounds: u64, counts: [f64; 5]) {
        let (rounds_before, before) = self.last.unwrap_or((0, counts));
        let new = rounds.saturating_sub(rounds_before) as f64;
        for ((sum, count), before) in self.sums.iter_mut().zip(counts).zip(before) {
            // The count of connections is assumed to change evenly between two readings. In round k of the `new`
            // rounds, the count is before + (count - before) * k / new. This line adds the sum over the `new` rounds,
            // as a formula.
            *sum += new * before + (count - before) * (new + 1.0) / 2.0;
        }
        self.readings += 1;
        self.max_open = self.max_open.max(counts[0]);
        self.last = Some((rounds, counts));
    }

    /// Returns the means over `rounds` rounds, or `None` if there was no reading. The last reading is also used for all
    /// rounds after it.
    pub(super) fn row(&self, rounds: u64) -> Option<ClientConnections> {
        let (rounds_read, last) = self.last?;
        let later = rounds.saturating_sub(rounds_read) as f64;
        let mut means = self.sums;
        means.iter_mut().zip(last).for_each(|(mean, last)| *mean = (*mean + later * last) / rounds.max(1) as f64);
        let [open, in_progress, uncertain, unread, queued] = means;
        let (readings, max_open) = (self.readings, self.max_open);
        Some(ClientConnections { readings, open, in_progress, uncertain, unread, queued, max_open })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mean number of requests in progress during `rounds` rounds (readings of all threads). `readings`
    /// contains the rounds in which the number of requests is known.
    fn mean(readings: &[(u64, f64)], rounds: u64) -> Option<f64> {
        let mut sums = ClientSums::default();
        readings.iter().for_each(|(round, count)| sums.add(*round, [0.0, *count, 0.0, 0.0, 0.0]));
        sums.row(rounds).map(|row| row.in_progress)
    }

    #[test]
    fn requests_that_grow_have_the_mean_of_all_rounds() {
        assert_eq!(mean(&[], 3), None);
        assert_eq!(mean(&[(1, 30.0), (2, 60.0), (3, 90.0)], 3), Some(60.0), "each round has a reading");
        // The count is 10, 20, 30, 40, 50, 60 in six rounds. Three of the six rounds have a reading.
        assert_eq!(mean(&[(1, 10.0), (2, 20.0), (6, 60.0)], 6), Some(35.0));
        assert_eq!(mean(&[(3, 30.0), (4, 40.0)], 6), Some((3.0 * 30.0 + 3.0 * 40.0) / 6.0), "rounds before and after");
    }
}
