//! Which request of the set comes next, and of which class it is.

use fastrand::Rng;
use run::RequestOrder;

use super::alias::Alias;

/// The requests of a plan. All memory is taken when it is made.
pub(super) struct Mix {
    next: Next,
    /// The class of each request; empty where each is one of its own.
    classes: Box<[u16]>,
    /// How many classes there are.
    count: usize,
}

enum Next {
    One,
    Weighted(Alias),
    /// So many, one after the other on each connection.
    Sequence(u16),
    /// As they were recorded, and the next; after the last the first again.
    Recorded(Box<[u16]>, usize),
    /// All in an order of this round, and how many of it were made.
    Shuffle(Box<[u16]>, usize),
}

impl Mix {
    /// Requests by weight, where the order asks for it. Weights that are not positive are never drawn; without any, all
    /// requests are the first.
    pub(super) fn new(of: &proto::Mix) -> Self {
        let (classes, weights) = (&*of.classes, &of.weights[..of.weights.len().min(usize::from(u16::MAX))]);
        let made = |weight: &f64| if weight.is_finite() { weight.max(0.0) } else { 0.0 };
        let next = match of.order {
            _ if weights.len() < 2 || weights.iter().all(|weight| made(weight) == 0.0) => Next::One,
            RequestOrder::Weighted => Next::Weighted(Alias::new(&weights.iter().map(made).collect::<Vec<_>>())),
            RequestOrder::Sequence => Next::Sequence(weights.len() as u16),
            RequestOrder::Shuffle => Next::Shuffle((0..weights.len() as u16).collect(), usize::MAX),
        };
        let count = match (&next, classes.iter().max()) {
            (Next::One, _) => 1,
            (_, Some(&last)) => usize::from(last) + 1,
            (_, None) => weights.len(),
        };
        Self { next, classes: classes.into(), count }
    }

    /// The same requests in an order that was recorded, where there is one.
    pub(super) fn recorded(self, items: &[u16]) -> Self {
        if items.is_empty() { self } else { Self { next: Next::Recorded(items.into(), 0), ..self } }
    }

    /// How many classes there are.
    pub(super) fn classes(&self) -> usize {
        self.count
    }

    /// The class of a request.
    #[inline]
    pub(super) fn class(&self, item: u16) -> u16 {
        self.classes.get(usize::from(item)).copied().unwrap_or(item)
    }

    /// The next request of a connection, on which `made` were begun before; with one request nothing is drawn.
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Rng, made: u64) -> u16 {
        match &mut self.next {
            Next::One => 0,
            Next::Weighted(weights) => weights.draw(rng),
            Next::Sequence(of) => (made % u64::from(*of)) as u16,
            Next::Recorded(items, at) => {
                let item = items[*at];
                *at = (*at + 1) % items.len();
                item
            }
            Next::Shuffle(round, at) => {
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

    fn of(weights: &[f64], classes: &[u16], order: RequestOrder) -> Mix {
        Mix::new(&proto::Mix { weights: weights.to_vec().into(), classes: classes.to_vec().into(), order })
    }

    #[test]
    fn requests_come_as_often_as_their_weights_say() {
        let (mut mix, mut rng) = (of(&[1.0, 0.0, 3.0], &[], RequestOrder::Weighted), Rng::with_seed(1));
        let mut counts = [0_u32; 3];
        (0..40_000).for_each(|_| counts[usize::from(mix.next(&mut rng, 0))] += 1);
        assert!(counts[1] == 0 && counts[0].abs_diff(10_000) < 400, "{counts:?}");
        for one in [&[][..], &[1.0], &[0.0, 0.0], &[f64::NAN, -1.0]] {
            let mut mix = of(one, &[], RequestOrder::Weighted);
            assert_eq!((mix.classes(), mix.next(&mut rng, 0)), (1, 0));
        }
    }

    #[test]
    fn a_sequence_is_of_its_connection_and_a_shuffle_has_each_once_a_round() {
        let mut rng = Rng::with_seed(1);
        let mut sequence = of(&[1.0; 3], &[0, 1, 0], RequestOrder::Sequence);
        assert_eq!([0, 1, 2, 3, 7].map(|made| sequence.next(&mut rng, made)), [0, 1, 2, 0, 1]);
        assert_eq!((sequence.classes(), sequence.class(2)), (2, 0));
        let mut shuffle = of(&[1.0; 5], &[], RequestOrder::Shuffle);
        let rounds: Vec<Vec<u16>> = (0..20).map(|_| (0..5).map(|_| shuffle.next(&mut rng, 0)).collect()).collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
        assert!(rounds.windows(2).any(|two| two[0] != two[1]), "{rounds:?}");
    }
}
