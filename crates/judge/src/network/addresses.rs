//! Large differences between the answers of several addresses of one server. One of the server's addresses may be
//! broken, far away, or belong to a weaker machine.

use run::{AddressPart, SummaryFigure, Trial};

use crate::number::{duration, percent, ratio};
use crate::thresholds::{ADDRESSES_DIFFER, FEWEST_REQUESTS};

/// Returns a sentence if one address of the server fails far more requests, or answers far more slowly, than another
/// address. `errors` is the largest share of failed requests that the objective allows.
pub(crate) fn difference(trial: &Trial, errors: f64) -> Option<String> {
    failing(trial, errors).or_else(|| slower(trial))
}

/// Describes in words the address with the largest share of failed requests. Returns `None` if all shares are within
/// the allowed share `errors`, or if all shares exceed `errors`.
fn failing(trial: &Trial, errors: f64) -> Option<String> {
    let [(worst, most), (best, least)] = extremes(trial, failed_share)?;
    (most > errors && least <= errors).then(|| {
        format!(
            "the addresses differ: {} of the requests to {worst} failed, {} of those to {best}",
            percent(most),
            percent(least)
        )
    })
}

/// Returns the slowest address in words, if its median response time is far longer than the median of the fastest
/// address.
fn slower(trial: &Trial) -> Option<String> {
    let [(slow, longest), (fast, shortest)] = extremes(trial, median_us)?;
    (ratio(longest, shortest)? >= ADDRESSES_DIFFER).then(|| {
        format!("the addresses differ: the median is {} at {slow}, {} at {fast}", duration(longest), duration(shortest))
    })
}

/// Returns the addresses with the highest and with the lowest value of `figure`, and both values. Leaves out addresses
/// with few requests.
fn extremes(trial: &Trial, figure: fn(&AddressPart) -> Option<f64>) -> Option<[(&str, f64); 2]> {
    let enough = trial.addresses.iter().filter(|part| requests(part) >= FEWEST_REQUESTS);
    let known = enough.filter_map(|part| Some((part.requests.name.as_str(), figure(part)?)));
    let highest = known.clone().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some([highest, known.min_by(|a, b| a.1.total_cmp(&b.1))?])
}

fn requests(part: &AddressPart) -> u64 {
    part.requests.measured.completed.saturating_add(part.requests.measured.failed)
}

fn failed_share(part: &AddressPart) -> Option<f64> {
    let counts = &part.requests.measured;
    ratio(counts.failed.saturating_add(counts.unexpected_status) as f64, requests(part) as f64)
}

fn median_us(part: &AddressPart) -> Option<f64> {
    part.requests.summary().figure(SummaryFigure::P50).exact()
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{ClassPart, ClassTally, Hist};

    fn part(name: &str, us: u64, failed: u64) -> AddressPart {
        let mut response = Hist::new();
        response.record_many_ns(us * 1000, 100);
        let measured = ClassTally { begun: 100 + failed, completed: 100, failed, ..ClassTally::default() };
        AddressPart {
            connections: 1,
            requests: ClassPart { name: name.into(), measured, response, ..ClassPart::default() },
        }
    }

    fn sentence(parts: [AddressPart; 2]) -> Option<String> {
        difference(&Trial { addresses: parts.into(), ..Trial::default() }, 0.01)
    }

    #[test]
    fn an_address_that_is_far_slower_or_fails_is_named() {
        assert_eq!(sentence([part("a:1", 1000, 0), part("b:1", 1500, 0)]), None);
        let text = sentence([part("a:1", 1000, 0), part("b:1", 9000, 0)]).unwrap();
        assert!(text.contains("9.00 ms at b:1") && text.contains("1.00 ms at a:1"), "{text}");
        let text = sentence([part("a:1", 1000, 30), part("b:1", 9000, 0)]).unwrap();
        assert!(text.contains("of the requests to a:1 failed"), "{text}");
        assert_eq!(sentence([part("a:1", 1000, 30), part("b:1", 1000, 30)]), None);
        let mut few = part("b:1", 9000, 0);
        few.requests.measured.completed = 3;
        assert_eq!(sentence([part("a:1", 1000, 0), few]), None);
        assert_eq!(difference(&Trial::default(), 0.0), None);
    }
}
