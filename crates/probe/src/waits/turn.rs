//! Divides many threads into groups (turns). Each round of the sampler reads one group. If a server has too many
//! threads for one round, each round reads the threads of one turn. A hash assigns thread IDs to turns, so each turn
//! contains threads of every kind and age. The shares of activities in one group (turn) of threads are unbiased
//! estimates of their shares among all threads. Source: W. G. Cochran, *Sampling Techniques*, 3rd edition, 1977,
//! chapter 2.

/// Maximum number of threads that a round reads without turns. Without turns, the files of the threads stay open, and
/// reading one thread takes 3 µs.
const MAX_ROUND_THREADS: usize = 512;
/// Mean number of threads in a turn. If the threads are divided into turns, each round opens the files of its threads
/// anew, which takes 15 µs per thread. A round that reads one turn takes 2 ms of CPU time.
const TURN_THREADS: usize = 128;

/// Threads that a round reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// Number of turns; 1 if a round reads all threads.
    turns: u64,
    current: u64,
}

impl Turn {
    /// Returns the turn of a round, if there are `threads` threads. The numbers of the rounds may begin at any value.
    pub(super) fn of(threads: usize, round: u64) -> Self {
        let turns = if threads > MAX_ROUND_THREADS { threads.div_ceil(TURN_THREADS) as u64 } else { 1 };
        Self { turns, current: round % turns }
    }

    /// Returns true if a round reads all threads.
    pub(super) fn is_whole(self) -> bool {
        self.turns == 1
    }

    /// Returns the number of threads that each thread of this turn represents. There are `all` threads, and `in_turn`
    /// of them belong to this turn. Both numbers include unreadable threads, because a readable thread represents only
    /// readable ones.
    pub(super) fn weight(self, all: usize, in_turn: usize) -> f64 {
        if self.is_whole() { 1.0 } else { all as f64 / in_turn.max(1) as f64 }
    }

    /// Returns true if the round reads this thread.
    pub(super) fn holds(self, tid: u32) -> bool {
        // Multiplication by the golden ratio spreads successive numbers evenly. Source: D. E. Knuth, *The Art of
        // Computer Programming*, volume 3, section 6.4.
        self.is_whole() || u64::from(tid.wrapping_mul(0x9e37_79b9) >> 8) % self.turns == self.current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_threads_have_one_turn() {
        let turn = Turn::of(MAX_ROUND_THREADS, 7);
        assert!(turn.is_whole() && (1..=512).all(|tid| turn.holds(tid)));
    }

    /// In this test, the threads of one pool were started before those of the other pool.
    #[test]
    fn each_thread_has_one_turn_and_each_turn_has_threads_of_both_pools() {
        for threads in [513_u32, 1000, 6000, 60_000] {
            let turns = Turn::of(threads as usize, 0).turns;
            let mut seen = 0;
            for round in 0..turns {
                let turn = Turn::of(threads as usize, 1_000_000 * turns + round);
                let tids: Vec<u32> = (20_000..20_000 + threads).filter(|tid| turn.holds(*tid)).collect();
                let old = tids.iter().filter(|tid| **tid < 20_000 + threads / 2).count();
                assert!((64..256).contains(&tids.len()), "{} of {threads}", tids.len());
                assert!((0.3..0.7).contains(&(old as f64 / tids.len() as f64)), "{old} of {}", tids.len());
                seen += tids.len();
            }
            assert_eq!(seen, threads as usize);
        }
    }
}
