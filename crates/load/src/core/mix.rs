//! Chooses the next request from the load plan's set of requests, and finds the class (kind) of a request.

use fastrand::Rng;
use run::RequestOrder;

use super::alias::Alias;

/// Set of requests of a load plan. All memory is allocated when the set is created.
pub(super) struct Mix {
    next: Selection,
    /// Request that was drawn by [`Mix::peek`] and has not started.
    ahead: Option<u16>,
    /// Class of each request. Empty if each request is a class (kind) of its own.
    classes: Box<[u16]>,
    /// Number of request classes.
    count: usize,
}

enum Selection {
    One,
    Weighted(Alias),
    /// Each connection sends the requests in the order of the set, again and again. The value contains the indexes of
    /// the requests in one round: each request as often as its weight says.
    Sequence(Box<[u16]>),
    /// Indexes of requests in the order of a recording, and the position of the next index to use. After the last index
    /// of the recording, the first index follows.
    Recorded(Box<[u16]>, usize),
    /// Requests in random order. Each round contains all requests, as often as their weights say, in a new order. The
    /// second value is the number of requests already taken from the shuffled list in this round.
    Shuffle(Box<[u16]>, usize),
}

impl Mix {
    /// Prepares the choice among the requests of `mix`. If the order is by weight, requests are drawn at random. A
    /// request without a positive weight is never sent. If no weight is positive, only the first request is used.
    pub(super) fn new(mix: &proto::Mix) -> Self {
        let (classes, weights) = (&*mix.classes, &mix.weights[..mix.weights.len().min(usize::from(u16::MAX))]);
        let made = |weight: &f64| if weight.is_finite() { weight.max(0.0) } else { 0.0 };
        let next = match mix.order {
            _ if weights.len() < 2 || weights.iter().all(|weight| made(weight) == 0.0) => Selection::One,
            RequestOrder::Weighted => Selection::Weighted(Alias::new(&weights.iter().map(made).collect::<Vec<_>>())),
            RequestOrder::Sequence => Selection::Sequence(round(weights)),
            RequestOrder::Shuffle => Selection::Shuffle(round(weights), usize::MAX),
        };
        let count = match (&next, classes.iter().max()) {
            (Selection::One, _) => 1,
            (_, Some(&last)) => usize::from(last) + 1,
            (_, None) => weights.len(),
        };
        Self { next, ahead: None, classes: classes.into(), count }
    }

    /// Replaces the order by the order of a recording, unless `items` is empty.
    pub(super) fn recorded(self, items: &[u16]) -> Self {
        if items.is_empty() { self } else { Self { next: Selection::Recorded(items.into(), 0), ..self } }
    }

    /// Returns the number of request classes.
    pub(super) fn classes(&self) -> usize {
        self.count
    }

    /// Returns the class (kind) of a request.
    #[inline]
    pub(super) fn class(&self, item: u16) -> u16 {
        self.classes.get(usize::from(item)).copied().unwrap_or(item)
    }

    /// Returns the index of the next request on a connection on which `made` requests were started. If the set has a
    /// single request, no random number is drawn.
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Rng, made: u64) -> u16 {
        match &mut self.next {
            Selection::One => 0,
            Selection::Sequence(round) => round[(made % round.len() as u64) as usize],
            drawn => self.ahead.take().unwrap_or_else(|| drawn.draw(rng)),
        }
    }

    /// Returns true if the requests are sent as a sequence, and a connection that has started `made` requests has not
    /// completed its present round of the sequence.
    pub(super) fn is_within_sequence(&self, made: u64) -> bool {
        matches!(&self.next, Selection::Sequence(round) if !made.is_multiple_of(round.len() as u64))
    }

    /// Returns the index of the request that the next call of [`Mix::next`] with the same value of `made` will return.
    pub(super) fn peek(&mut self, rng: &mut Rng, made: u64) -> u16 {
        let item = self.next(rng, made);
        if matches!(self.next, Selection::Weighted(_) | Selection::Recorded(..) | Selection::Shuffle(..)) {
            self.ahead = Some(item);
        }
        item
    }
}

/// Returns the indexes of the requests in one round. The check of the plan has already refused weights that are not in
/// a ratio of whole numbers. For refused weights, the function would return each request with a positive weight once.
fn round(weights: &[f64]) -> Box<[u16]> {
    let once = || (0..=u16::MAX).zip(weights).filter(|(_, weight)| **weight > 0.0).map(|(item, _)| item).collect();
    run::round_of(weights).unwrap_or_else(once).into()
}

impl Selection {
    /// Draws a request, if the connections share the order of the requests.
    #[inline]
    fn draw(&mut self, rng: &mut Rng) -> u16 {
        match self {
            Self::One | Self::Sequence(_) => 0,
            Self::Weighted(weights) => weights.draw(rng),
            Self::Recorded(items, at) => {
                let item = items[*at];
                *at = (*at + 1) % items.len();
                item
            }
            Self::Shuffle(round, at) => {
                if *at >= round.len() {
                    rng.shuffle(round);
                    *at = 0;
                }
                *at += 1;
                round[*at - 1]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix_of(weights: &[f64], classes: &[u16], order: RequestOrder) -> Mix {
        Mix::new(&proto::Mix { weights: weights.to_vec().into(), classes: classes.to_vec().into(), order })
    }

    #[test]
    fn requests_come_as_often_as_their_weights_say() {
        let (mut mix, mut rng) = (mix_of(&[1.0, 0.0, 3.0], &[], RequestOrder::Weighted), Rng::with_seed(1));
        let mut counts = [0_u32; 3];
        (0..40_000).for_each(|_| counts[usize::from(mix.next(&mut rng, 0))] += 1);
        assert!(counts[1] == 0 && counts[0].abs_diff(10_000) < 400, "{counts:?}");
        for one in [&[][..], &[1.0], &[0.0, 0.0], &[f64::NAN, -1.0]] {
            let mut mix = mix_of(one, &[], RequestOrder::Weighted);
            assert_eq!((mix.classes(), mix.next(&mut rng, 0)), (1, 0));
        }
    }

    #[test]
    fn a_request_that_was_looked_at_comes_next() {
        for order in [RequestOrder::Weighted, RequestOrder::Shuffle, RequestOrder::Sequence] {
            let [mut plain, mut looked_at] = [0; 2].map(|_| mix_of(&[1.0; 7], &[], order));
            let [mut rng, mut other] = [0; 2].map(|_| Rng::with_seed(3));
            for made in 0..200 {
                let expected = plain.next(&mut rng, made);
                (0..made % 3).for_each(|_| assert_eq!(looked_at.peek(&mut other, made), expected));
                assert_eq!(looked_at.next(&mut other, made), expected, "{order:?}");
            }
        }
    }

    #[test]
    fn each_connection_has_its_own_sequence_and_a_shuffle_draws_each_once_per_round() {
        let mut rng = Rng::with_seed(1);
        let mut sequence = mix_of(&[1.0; 3], &[0, 1, 0], RequestOrder::Sequence);
        assert_eq!([0, 1, 2, 3, 7].map(|made| sequence.next(&mut rng, made)), [0, 1, 2, 0, 1]);
        assert_eq!((sequence.classes(), sequence.class(2)), (2, 0));
        assert_eq!([0, 1, 2, 3, 7].map(|made| sequence.is_within_sequence(made)), [false, true, true, false, true]);
        assert!(!mix_of(&[1.0; 3], &[], RequestOrder::Shuffle).is_within_sequence(1));
        let mut weighted = mix_of(&[3.0, 0.0, 1.0], &[], RequestOrder::Sequence);
        assert_eq!([0, 1, 2, 3, 4].map(|made| weighted.next(&mut rng, made)), [0, 0, 0, 2, 0]);
        let mut weighted = mix_of(&[0.5, 0.0, 1.5], &[], RequestOrder::Shuffle);
        let mut round: Vec<u16> = (0..4).map(|_| weighted.next(&mut rng, 0)).collect();
        round.sort_unstable();
        assert_eq!(round, [0, 2, 2, 2]);
        let mut shuffle = mix_of(&[1.0; 5], &[], RequestOrder::Shuffle);
        let rounds: Vec<Vec<u16>> = (0..20).map(|_| (0..5).map(|_| shuffle.next(&mut rng, 0)).collect()).collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
        assert!(rounds.windows(2).any(|two| two[0] != two[1]), "{rounds:?}");
    }
}
