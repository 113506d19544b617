//! List of the shares of the throughput, or of the response time, that an experiment found. A lever is a temporary change
//! that an experiment makes, such as slowing a CPU.

use run::{ElasticityBasis, Estimate, Proof};

use super::part_text::{part, spans_whole};
use super::parts::{REMAINDER, part_of, shares};
use super::words::in_words;
use crate::number::percent;

/// Returns a sentence that lists the shares of throughput of all resources and the remainder, the largest first, with
/// intervals or bounds. Leaves out a remainder that may be anything from nothing to the whole, unless it is alone.
pub(super) fn shares_sentence(proof: &Proof) -> String {
    let one = |(at, (lever, e)): (usize, &(String, Estimate))| {
        let basis = part_of(proof, lever).map_or(ElasticityBasis::Measured, |part| part.basis);
        let explains = if at == 0 { " explains" } else { "" };
        match basis {
            ElasticityBasis::Open => {
                format!("{}{explains} an unknown part (its lever shows nothing)", in_words(lever))
            }
            ElasticityBasis::Joint => {
                format!("{}{explains} at most {} (with another lever)", in_words(lever), percent(e.high))
            }
            ElasticityBasis::Wanted => format!("{}{explains} at most {}", in_words(lever), percent(e.high)),
            ElasticityBasis::Measured => format!("{}{explains} {}", in_words(lever), part(e)),
        }
    };
    let mut shares = shares(proof);
    if shares.len() > 1 {
        shares.retain(|(lever, e)| lever != REMAINDER || !spans_whole(e));
    }
    let all = shares.iter().enumerate().map(one).collect::<Vec<_>>().join(", ");
    match proof.of.is_throughput() {
        true => all,
        false => format!("of the growth of {} when everything slows down, {all}", proof.of.name()),
    }
}

#[cfg(test)]
mod tests {
    use run::Elasticity;

    use super::*;

    /// A report on a real run contained the text "something untested explains 50 % (0 to 100 %)", which says nothing.
    #[test]
    fn a_remainder_that_may_be_anything_is_left_out() {
        let estimate = |low, high| Estimate { value: 0.4, low, high };
        let told = |remainder: Estimate| {
            let cpu = Elasticity { lever: "server-cpu".into(), estimate: estimate(0.0, 0.64), ..Elasticity::default() };
            shares_sentence(&Proof { elasticities: vec![cpu], remainder: Some(remainder), ..Proof::default() })
        };
        assert_eq!(told(estimate(-0.1, 1.1)), "the server's CPU explains 40 % (0 to 64 %)");
        assert!(told(estimate(0.1, 1.1)).contains("something untested"), "{}", told(estimate(0.1, 1.1)));
    }
}
