//! Order and weights with which the requests of a set are selected.

use std::borrow::Cow;
use std::sync::Arc;

use run::{RequestOrder, RequestSet};

/// Order and weights with which the requests of a set are selected.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// Weight of each request of the set.
    pub weights: Cow<'static, [f64]>,
    /// Index of the class (kind) to which each request belongs, for results per class. Empty if each request is a class
    /// of its own.
    pub classes: Cow<'static, [u16]>,
    /// Order in which requests are selected.
    pub order: RequestOrder,
}

impl Mix {
    /// Mix with a single request, which is repeated.
    pub const ONE: &'static Self =
        &Self { weights: Cow::Borrowed(&[1.0]), classes: Cow::Borrowed(&[]), order: RequestOrder::Weighted };

    /// Returns the mix of a set of requests. Without a set, returns the mix of a single request.
    pub(crate) fn for_set(set: Option<&RequestSet>) -> Arc<Self> {
        let mix = |set: &RequestSet| {
            let weights = set.requests.iter().map(|request| request.weight).collect();
            Self { weights, classes: set.classes().1.into(), order: set.order }
        };
        Arc::new(set.map_or_else(|| Self::ONE.clone(), mix))
    }
}
