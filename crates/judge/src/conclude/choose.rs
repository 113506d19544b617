//! Chooses the verdict among the results of the rules. The choice depends on each rule's tier, on the probability of
//! its result, and on the bottlenecks whose signs the rule explains.

use crate::rules::{Rule, Tier, Verdict};
use crate::signals::shared;
use crate::thresholds::{GUESS, LIKELY, SUREST};

/// A rule, and the result that it returned.
pub(crate) type Answer = (&'static Rule, Verdict);

/// The rule that won, with its result.
#[derive(Debug)]
pub(crate) struct Choice<'a> {
    pub(crate) rule: &'static Rule,
    pub(crate) verdict: &'a Verdict,
    /// Probability that the winning verdict is right. Causes in one tier share the probability, unless one of them
    /// explains another. A winner of the last tier is right only if every specific cause is wrong. The probabilities of
    /// unlikely specific causes therefore lower the probability of a winner of the last tier.
    pub(crate) chance: f64,
}

/// Chooses the winner among the results that name a bottleneck (`Verdict::Binds`). Leaves out the rules in `excluded`.
/// Among the results that can win, a result in a higher tier beats all results in lower tiers. Within one tier, a rule
/// beats every rule whose signs it explains. Among the remaining rules, the most probable result wins. Of equally
/// probable results, the first one wins.
pub(crate) fn choose<'a>(answers: &'a [Answer], excluded: &[&str]) -> Option<Choice<'a>> {
    let bound: Vec<Bound<'_>> =
        answers.iter().filter(|(rule, _)| !excluded.contains(&rule.id)).filter_map(of).collect();
    let can_win = || bound.iter().filter(|b| b.can_win());
    let tier = can_win().map(Bound::tier).min()?;
    let mut left: Vec<&Bound<'_>> = can_win().filter(|b| b.tier() == tier).collect();
    let all = left.clone();
    left.retain(|b| !all.iter().any(|other| other.accounts_for(b)));
    let most = left.iter().map(|b| b.chance).fold(0.0, f64::max);
    let winner = left.iter().find(|b| b.chance >= most - 4.0 * f64::EPSILON)?;
    let rivals = left.iter().filter(|b| tier == Tier::Cause && b.rule.id != winner.rule.id);
    let none_else: f64 = bound.iter().filter(|b| b.is_guess_beside(winner)).map(|b| 1.0 - b.chance).product();
    let chance = (shared(winner.chance, rivals.map(|b| b.chance)) * none_else).min(SUREST);
    Some(Choice { rule: winner.rule, verdict: winner.verdict, chance })
}

/// A result that names a bottleneck, with its rule and its probability.
struct Bound<'a> {
    rule: &'static Rule,
    verdict: &'a Verdict,
    chance: f64,
}

fn of((rule, verdict): &Answer) -> Option<Bound<'_>> {
    let Verdict::Binds { confidence, .. } = verdict else { return None };
    let chance = if confidence.is_finite() { confidence.clamp(0.0, 1.0) } else { 0.0 };
    Some(Bound { rule, verdict, chance })
}

impl Bound<'_> {
    /// Returns the tier (rank) of the cause. A cause with a probability below one half ranks in the last tier.
    fn tier(&self) -> Tier {
        if self.chance >= LIKELY { self.rule.tier } else { Tier::LeftOver }
    }

    /// Returns true if the result may become the verdict. A specific cause may become the verdict only if its
    /// probability is at least [`GUESS`].
    fn can_win(&self) -> bool {
        self.rule.tier == Tier::LeftOver || self.chance >= GUESS
    }

    /// Returns true if this unlikely cause lowers the probability of `winner`. A winner of the last tier is right only
    /// if every specific cause is wrong.
    fn is_guess_beside(&self, winner: &Self) -> bool {
        winner.rule.tier == Tier::LeftOver && self.rule.tier != Tier::LeftOver && self.chance < LIKELY
    }

    /// Returns true if the signs of `other` are symptoms of this cause. A cause with a probability below one half
    /// explains no other cause.
    fn accounts_for(&self, other: &Bound<'_>) -> bool {
        self.chance >= LIKELY && self.rule.explains.contains(&other.rule.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RULES;

    fn won(answers: &[(&str, f64)]) -> (&'static str, f64) {
        let binds = |confidence| Verdict::Binds { confidence, sentence: String::new(), evidence: Vec::new() };
        let rule = |id: &str| RULES.iter().find(|rule| rule.id == id).unwrap();
        let answers: Vec<Answer> = answers.iter().map(|(id, confidence)| (rule(id), binds(*confidence))).collect();
        let choice = choose(&answers, &[]).unwrap();
        (choice.rule.id, choice.chance)
    }

    #[test]
    fn a_higher_tier_wins_whatever_the_probabilities_are() {
        assert_eq!(won(&[("server-concurrency", 0.9), ("server-disk", 0.6)]), ("server-disk", 0.6));
        assert_eq!(won(&[("server-cpu", 0.99), ("client-ports", 0.95)]), ("client-ports", 0.95));
        assert_eq!(won(&[("server-cpu", 0.99)]), ("server-cpu", SUREST));
        assert_eq!(won(&[("server-concurrency", 0.6), ("server-disk", 0.4)]).0, "server-concurrency", "a guess");
        assert_eq!(won(&[("unknown", 0.0), ("server-disk", 0.4)]).0, "server-disk", "better than nothing");
    }

    #[test]
    fn a_guess_gets_a_share_of_the_remaining_probability() {
        let (id, chance) = won(&[("server-concurrency", 0.9), ("server-single-thread", 0.3)]);
        assert!(id == "server-concurrency" && (chance - 0.63).abs() < 1e-9, "{id} {chance}");
        assert_eq!(won(&[("server-single-thread", 0.3), ("unknown", 0.0)]).0, "unknown", "a hint is no verdict");
    }

    #[test]
    fn a_cause_beats_its_symptoms_and_shares_its_probability_with_nobody_else() {
        assert_eq!(won(&[("network-loss", 0.95), ("accept-queue", 0.75)]), ("accept-queue", 0.75));
        assert_eq!(won(&[("server-cpu", 0.4), ("accept-queue", 0.75)]), ("accept-queue", 0.75), "an unlikely cause");
        let (id, chance) = won(&[("server-disk", 0.9), ("network-medium", 0.95)]);
        assert!(id == "network-medium" && (0.6..0.7).contains(&chance), "{id} {chance}");
    }

    #[test]
    fn no_rule_explains_one_that_explains_it_and_every_explained_id_has_a_rule() {
        for rule in RULES {
            let mut seen: Vec<&str> = rule.explains.to_vec();
            let mut at = 0;
            while let Some(id) = seen.get(at).copied() {
                let next = RULES.iter().find(|r| r.id == id).unwrap_or_else(|| panic!("{id} has no rule"));
                seen.extend(next.explains.iter().filter(|id| !seen.contains(id)).collect::<Vec<_>>());
                at += 1;
            }
            assert!(!seen.contains(&rule.id), "{} explains itself by {seen:?}", rule.id);
        }
    }
}
