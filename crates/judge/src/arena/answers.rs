//! Check of a server's first answer, before any measurement.

use run::{AnswerCheck, ArenaAnswer, ArenaProfile, ArenaRefusal, ArenaRefusalKind};

/// Maximum number of characters of a body that an error message quotes.
const MAX_SHOWN_CHARS: usize = 60;

/// Compares a server's answer with the status, length and text that the load profile expects. For anything that the
/// profile does not specify, the first server's answer is the expected answer. Returns a description of the first
/// difference, if any.
pub fn wrong_answer(
    profile: &ArenaProfile,
    first: Option<(&str, &ArenaAnswer)>,
    answer: &ArenaAnswer,
) -> Option<ArenaRefusal> {
    let why = wrong_status(profile, first, answer)
        .or_else(|| wrong_length(profile, first, answer))
        .or_else(|| wrong_text(profile, first, answer))?;
    Some(ArenaRefusal { kind: ArenaRefusalKind::WrongAnswer, text: why })
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
    let given = answer.body_bytes?;
    let of_first = first.filter(|_| profile.check >= AnswerCheck::Length && profile.expect_text.is_none());
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
        ArenaAnswer { status, body_bytes: Some(text.len() as u64), text: text.into() }
    }

    #[test]
    fn an_answer_is_compared_with_the_first_server_and_with_what_is_stated() {
        let (first, plain) = (answer(200, "Hello"), ArenaProfile::default());
        let of = |profile: &ArenaProfile, given: &ArenaAnswer| {
            wrong_answer(profile, Some(("nginx", &first)), given).map(|refusal| refusal.text)
        };
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
        // The first answer is kept as raw bytes, and loadline finds the body in these bytes only for HTTP/1. The body
        // length and the text of an HTTP/2 answer are therefore unknown, and only the status is compared.
        let unknown = ArenaAnswer { status: 200, ..ArenaAnswer::default() };
        assert_eq!((of(&plain, &unknown), wrong_answer(&plain, None, &first)), (None, None));
    }
}
