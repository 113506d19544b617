//! A chain of services, independent of its output form: boxes joined by arrows. Each arrow leads from a client to the
//! service that it uses. Each box shows the service's utilization, and the share by which the service explains the
//! throughput.

use run::Estimate;
use run::number::{Unit, quantity};

/// A chart of services as boxes joined by arrows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain {
    /// Title: the result as a sentence.
    pub title: String,
    /// Caption, which describes the measurement of the figures.
    pub caption: String,
    /// Boxes of the chain. Each box comes after the box from which its arrow starts.
    pub links: Vec<Link>,
}

/// A box and the arrow to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// Name of the service.
    pub name: String,
    /// Processes of the service; may be empty.
    pub who: String,
    /// Index of the box from which the arrow to this box starts; `None` if no arrow leads to this box.
    pub from: Option<usize>,
    /// Number of connections and its unit, such as `8` and `connections`, written beside the arrow; both may be empty.
    pub joined: [String; 2],
    /// Name and utilization (0 to 1) of the service's busiest device; `None` if not observed.
    pub busy: Option<(String, f64)>,
    /// Name of the figure for the share of throughput that the service explains, and its estimate; `None` if not
    /// measured.
    pub follows: Option<(&'static str, Estimate)>,
    /// Name of the resource that is full, such as `one thread`; empty if no resource is full.
    pub full: String,
}

impl Chain {
    /// Returns the indices of the boxes in reading order, each with its depth (number of arrows before it). Each box is
    /// followed by the boxes to which its arrows lead.
    pub(crate) fn order(&self) -> Vec<(usize, usize)> {
        let mut order: Vec<(usize, usize)> = Vec::new();
        for (i, link) in self.links.iter().enumerate() {
            // A box begins a new chain if no earlier box leads to it.
            let parent = link.from.and_then(|from| order.iter().position(|(at, _)| *at == from));
            let Some(parent) = parent else {
                order.push((i, 0));
                continue;
            };
            let step = order[parent].1 + 1;
            let end = order[parent + 1..].iter().position(|(_, of)| *of < step).map_or(order.len(), |n| parent + 1 + n);
            order.insert(end, (i, step));
        }
        order
    }
}

impl Link {
    /// Describes the service and its figures as text.
    pub(crate) fn told(&self) -> String {
        let who = if self.who.is_empty() { String::new() } else { format!(" ({})", self.who) };
        let joined = self.joined.join(" ");
        let mut told: Vec<String> = (!joined.trim().is_empty()).then_some(joined).into_iter().collect();
        told.extend([self.busy_told(), self.follows_told()]);
        told.extend((!self.full.is_empty()).then(|| self.full_told()));
        format!("{}{who}: {}", self.name, told.join(", "))
    }

    fn busy_told(&self) -> String {
        match &self.busy {
            Some((what, share)) => format!("{what} {}", quantity(*share, Unit::Share)),
            None => "not watched".into(),
        }
    }

    fn follows_told(&self) -> String {
        match &self.follows {
            Some((what, e)) => format!("{what} {}", estimate(e)),
            None => "elasticity not measured".into(),
        }
    }

    pub(super) fn full_told(&self) -> String {
        format!("FULL: {}", self.full)
    }
}

/// Formats an estimate with its interval.
fn estimate(e: &Estimate) -> String {
    format!("{:.2} ({:.2} to {:.2})", e.value, e.low, e.high)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::plot) fn link(name: &str, from: Option<usize>) -> Link {
        Link { name: name.into(), from, joined: ["8".into(), "connections".into()], ..Link::default() }
    }

    /// Returns a client and a server with two upstream services: an application, which uses a database, and a cache.
    pub(in crate::plot) fn chain() -> Chain {
        let links = vec![
            link("client", None),
            link("server", Some(0)),
            link("app", Some(1)),
            link("cache", Some(1)),
            link("<db>", Some(2)),
        ];
        Chain { links, ..Chain::default() }
    }

    #[test]
    fn boxes_follow_the_box_that_leads_to_them() {
        assert_eq!(chain().order(), [(0, 0), (1, 1), (2, 2), (4, 3), (3, 2)]);
        let lost =
            Chain { links: vec![link("a", Some(7)), link("b", Some(1)), link("c", Some(0))], ..Chain::default() };
        assert_eq!(lost.order(), [(0, 0), (2, 1), (1, 0)], "what comes from nowhere begins a chain of its own");
    }

    #[test]
    fn a_box_is_described_as_text() {
        let mut app = link("10.0.0.1:80", Some(1));
        assert_eq!(app.told(), "10.0.0.1:80: 8 connections, not watched, elasticity not measured");
        app.who = "python3:812".into();
        app.busy = Some(("busiest thread".into(), 0.98));
        app.follows = Some(("elasticity", Estimate::around(0.97, 0.05)));
        app.full = "one thread".into();
        let told = "10.0.0.1:80 (python3:812): 8 connections, busiest thread 98 %, elasticity 0.97 (0.92 to 1.02), FULL: one thread";
        assert_eq!(app.told(), told);
    }
}
