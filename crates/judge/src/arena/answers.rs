//! Checks a server's answers before any measurement of the server.

use run::{AnswerCheck, ArenaAnswer, ArenaPlace, ArenaProfile, ArenaRefusal, ArenaRefusalKind, ArenaState};

/// Maximum number of characters of a body that an error message quotes.
const MAX_SHOWN_CHARS: usize = 60;

/// Answers that a server must give under one load of a comparison.
pub struct ExpectedAnswers<'a> {
    profile: &'a ArenaProfile,
    /// Name and answers of the first server accepted under this load; `None` if no server was accepted yet.
    first: Option<(&'a str, Vec<&'a ArenaAnswer>)>,
}

impl<'a> ExpectedAnswers<'a> {
    /// Returns the answers that the server must give under the load.
    pub fn of(state: &'a ArenaState, place: ArenaPlace) -> Self {
        let profile = &state.plan.profiles[place.profile];
        let accepted = state.searches.iter().find(|search| {
            let wrong = search.refused.as_ref().is_some_and(|r| r.kind == ArenaRefusalKind::WrongAnswer);
            search.place.profile == place.profile && !wrong && search.answer.is_some()
        });
        let first = accepted.map(|search| {
            let is_own = search.place.entry == place.entry;
            let name = if is_own { "its first start" } else { &state.plan.entries[search.place.entry].name };
            (name, search.answers().collect())
        });
        Self { profile, first }
    }

    /// Compares a server's answers with the status, length and text that the load profile states for every answer. A
    /// property that the profile does not state must be the same as in the first server's answer to the same request.
    /// Returns a description of the first difference, if any.
    pub fn wrong(&self, answers: &[ArenaAnswer]) -> Option<ArenaRefusal> {
        answers.iter().find_map(|answer| self.wrong_answer(answer))
    }

    fn wrong_answer(&self, answer: &ArenaAnswer) -> Option<ArenaRefusal> {
        let of_first = |(name, all): &(&'a str, Vec<&'a ArenaAnswer>)| {
            let same = all.iter().find(|first| first.request == answer.request)?;
            Some((*name, *same))
        };
        let (profile, first) = (self.profile, self.first.as_ref().and_then(of_first));
        let why = wrong_status(profile, first, answer)
            .or_else(|| wrong_length(profile, first, answer))
            .or_else(|| wrong_text(profile, first, answer))?;
        let request = match profile.requests.is_some() {
            true => format!("request {} of the set: ", answer.request + 1),
            false => String::new(),
        };
        Some(ArenaRefusal { kind: ArenaRefusalKind::WrongAnswer, text: request + &why })
    }
}

/// Returns the reason why the first turn with a wrong answer was refused. Returns `None` if the server gave the right
/// answers in all of its turns under the load.
pub fn wrong_turn(state: &ArenaState, place: ArenaPlace) -> Option<&ArenaRefusal> {
    let refusals = state.turns.iter().filter(|turn| turn.place == place).filter_map(|turn| turn.refused.as_ref());
    refusals.into_iter().find(|refused| refused.kind == ArenaRefusalKind::WrongAnswer)
}

fn wrong_status(profile: &ArenaProfile, first: Option<(&str, &ArenaAnswer)>, answer: &ArenaAnswer) -> Option<String> {
    let given = answer.status;
    match (profile.expect_status, first) {
        (Some(expected), _) => {
            (given != expected).then(|| format!("it answered with status {given} instead of {expected}"))
        }
        (None, Some((name, first))) if first.status != given => {
            Some(format!("it answered with status {given}, and {name} with {}", first.status))
        }
        _ => None,
    }
}

fn wrong_length(profile: &ArenaProfile, first: Option<(&str, &ArenaAnswer)>, answer: &ArenaAnswer) -> Option<String> {
    let of_first = first.filter(|_| profile.check >= AnswerCheck::Length && profile.expect_text.is_none());
    let must_match = profile.expect_bytes.is_some() || of_first.is_some_and(|(_, first)| first.body_bytes.is_some());
    let Some(given) = answer.body_bytes else {
        return must_match.then(|| "the length of its body is not known, so it cannot be checked".into());
    };
    match (profile.expect_bytes, of_first) {
        (Some(expected), _) => (given != expected).then(|| format!("its body has {given} bytes instead of {expected}")),
        (None, Some((name, ArenaAnswer { body_bytes: Some(bytes), .. }))) if *bytes != given => {
            Some(format!("its body has {given} bytes, and that of {name} {bytes}"))
        }
        _ => None,
    }
}

fn wrong_text(profile: &ArenaProfile, first: Option<(&str, &ArenaAnswer)>, answer: &ArenaAnswer) -> Option<String> {
    if let Some(expected) = &profile.expect_text {
        let missing = !answer.text.contains(expected.as_str());
        return missing.then(|| format!("its body {} does not contain {}", shown(&answer.text), shown(expected)));
    }
    let (name, first) = first.filter(|_| profile.check == AnswerCheck::Text)?;
    let known = !first.text.is_empty() && !answer.text.is_empty();
    (known && first.text != answer.text).then(|| {
        format!("its body begins with {}, and that of {name} with {}", shown(&answer.text), shown(&first.text))
    })
}

fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(MAX_SHOWN_CHARS).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, text: &str) -> ArenaAnswer {
        ArenaAnswer { status, body_bytes: Some(text.len() as u64), text: text.into(), ..ArenaAnswer::default() }
    }

    fn refused(profile: &ArenaProfile, first: &[&ArenaAnswer], given: &[ArenaAnswer]) -> Option<String> {
        let first = (!first.is_empty()).then(|| ("nginx", first.to_vec()));
        let expected = ExpectedAnswers { profile, first };
        expected.wrong(given).map(|refusal| refusal.text)
    }

    #[test]
    fn an_answer_is_compared_with_the_first_server_and_with_what_is_stated() {
        let (first, plain) = (answer(200, "Hello"), ArenaProfile::default());
        let of = |profile: &ArenaProfile, given: &ArenaAnswer| refused(profile, &[&first], std::slice::from_ref(given));
        assert_eq!(of(&plain, &first), None);
        assert!(of(&plain, &answer(404, "Hello")).unwrap().contains("status 404, and nginx with 200"));
        assert!(of(&plain, &answer(200, "Hell")).unwrap().contains("4 bytes, and that of nginx 5"));
        assert!(of(&plain, &answer(200, "hello")).unwrap().contains("begins with \"hello\""));
        let length = ArenaProfile { check: AnswerCheck::Length, ..ArenaProfile::default() };
        assert_eq!(of(&length, &answer(200, "hello")), None);
        let text = ArenaProfile { expect_text: Some("lo".into()), ..ArenaProfile::default() };
        assert_eq!(of(&text, &answer(200, "long")), None);
        assert!(of(&text, &answer(200, "x")).unwrap().contains("does not contain \"lo\""));
        let stated = ArenaProfile { expect_status: Some(404), expect_bytes: Some(1), ..ArenaProfile::default() };
        assert!(of(&stated, &answer(200, "x")).unwrap().contains("instead of 404"));
        assert!(of(&stated, &answer(404, "xy")).unwrap().contains("2 bytes instead of 1"));
    }

    #[test]
    fn a_length_that_is_not_known_is_refused_where_it_matters() {
        let unknown = [ArenaAnswer { status: 200, ..ArenaAnswer::default() }];
        let first = answer(200, "Hello");
        let (plain, stated) =
            (ArenaProfile::default(), ArenaProfile { expect_bytes: Some(0), ..ArenaProfile::default() });
        assert!(refused(&plain, &[&first], &unknown).unwrap().contains("not known"));
        assert!(refused(&stated, &[], &unknown).unwrap().contains("not known"));
        // A comparison that an older version of loadline stored may contain a first answer without a length.
        assert_eq!(refused(&plain, &[&unknown[0]], &[first]), None);
        let status = ArenaProfile { check: AnswerCheck::Status, ..ArenaProfile::default() };
        assert_eq!(refused(&status, &[&answer(200, "Hello")], &unknown), None);
    }

    #[test]
    fn each_answer_of_a_set_is_compared_with_the_answer_to_the_same_request() {
        let of = |request, text| ArenaAnswer { request, ..answer(200, text) };
        let set = ArenaProfile { requests: Some("pages.toml".into()), ..ArenaProfile::default() };
        let (page, image) = (of(0, "page"), of(2, "image"));
        let compared = |given: &[ArenaAnswer]| refused(&set, &[&page, &image], given);
        assert_eq!(compared(&[page.clone(), image.clone()]), None);
        let short = compared(&[page.clone(), of(2, "imag")]).unwrap();
        assert!(short.contains("request 3 of the set") && short.contains("4 bytes, and that of nginx 5"), "{short}");
    }
}
