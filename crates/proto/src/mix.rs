//! How a set of requests is gone through.

use std::borrow::Cow;
use std::sync::Arc;

use run::{RequestOrder, RequestSet};

/// How a set is gone through.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// How often each request of the set is to be made, against the others.
    pub weights: Cow<'static, [f64]>,
    /// The class of each request of the set; empty where each is one of its own.
    pub classes: Cow<'static, [u16]>,
    /// Which request comes next.
    pub order: RequestOrder,
}

impl Mix {
    /// One request, made again and again.
    pub const ONE: &'static Self =
        &Self { weights: Cow::Borrowed(&[1.0]), classes: Cow::Borrowed(&[]), order: RequestOrder::Weighted };

    /// That of a set; without one there is one request.
    pub(crate) fn of(set: Option<&RequestSet>) -> Arc<Self> {
        let of = |set: &RequestSet| {
            let weights = set.requests.iter().map(|request| request.weight).collect();
            Self { weights, classes: set.classes().1.into(), order: set.order }
        };
        Arc::new(set.map_or_else(|| Self::ONE.clone(), of))
    }
}
