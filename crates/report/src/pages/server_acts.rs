//! Sentences on what the server did of its own accord: ends of connections, and messages that no request asked for.

use run::number::{count, quantity};
use run::{Intensity, Trial};

use crate::Unit;

/// Returns a sentence for each kind of act that happened.
pub(super) fn sentences(trial: &Trial) -> Vec<String> {
    let tally = &trial.tally;
    let unprocessed = (tally.unprocessed > 0).then(|| {
        format!("{} sent again, since the server closed their connection unanswered", count(tally.unprocessed))
    });
    let races = (tally.keep_alive_races > 0).then(|| races(trial));
    let left = (tally.closes_left_to_client > 0).then(|| {
        format!(
            "the server announced the end of {} connections and left the close to loadline, so their TIME_WAIT is on this \
             side",
            count(tally.closes_left_to_client)
        )
    });
    let unasked = (tally.unasked_messages > 0).then(|| {
        format!("{} messages came that no request asked for; none is an answer", count(tally.unasked_messages))
    });
    [unprocessed, races, left, unasked].into_iter().flatten().collect()
}

fn races(trial: &Trial) -> String {
    let tally = &trial.tally;
    let thinks = matches!(&trial.intensity, Intensity::Closed { think, .. } if think.mean_ms > 0.0);
    let pause = if thinks { "the think time" } else { "the time between two requests of a connection" };
    let after =
        trial.closes_idle_after_s.map_or_else(String::new, |s| format!(" ({})", quantity(s * 1e6, Unit::Micros)));
    let again = match tally.resent {
        0 => "no request was sent again, as none is known to be idempotent".into(),
        n => format!("{} sent again", count(n)),
    };
    format!(
        "the server closed {} idle connections just as requests left: its keep-alive timeout{after} is no longer than \
         {pause}; {again}",
        count(tally.keep_alive_races)
    )
}

#[cfg(test)]
mod tests {
    use run::{Tally, ThinkTime};

    use super::*;

    #[test]
    fn each_kind_of_act_has_its_sentence() {
        let think = ThinkTime { mean_ms: 100.0, exponential: false };
        let mut trial = Trial {
            intensity: Intensity::Closed { connections: 4, pipeline: 1, think },
            closes_idle_after_s: Some(0.1),
            ..Trial::default()
        };
        assert!(sentences(&trial).is_empty());
        trial.tally = Tally {
            unprocessed: 3,
            keep_alive_races: 8,
            resent: 8,
            closes_left_to_client: 5,
            unasked_messages: 2,
            ..Tally::default()
        };
        let told = sentences(&trial);
        assert_eq!(told.len(), 4);
        assert_eq!(
            told[1],
            "the server closed 8 idle connections just as requests left: its keep-alive timeout (100 ms) is no longer than \
             the think time; 8 sent again"
        );
        trial.tally.resent = 0;
        assert!(sentences(&trial)[1].ends_with("idempotent"));
    }
}
