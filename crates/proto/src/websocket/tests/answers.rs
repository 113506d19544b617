//! Tests of the rules by which a client finds the answer to a request among the messages of a server.

use run::{StreamFormat, StreamPlan};

use super::super::frame::{self, FIN};
use super::super::{ClientPlan, ClientSession};
use super::{AnswerSettings, accepted, framed, open, plan, sent};
use crate::{Client, Fault, Outcome, Request, Requester, Which};

/// Creates a session with one request, whose answer is a stream of events with the end marker `end`.
fn stream(end: &str) -> ClientSession {
    let format = StreamFormat::Ws;
    let stream = StreamPlan { format, end: end.into(), ..StreamPlan::default() };
    let mut session = accepted(plan(5, 0, |_| ()).unwrap().with_stream(&stream).unwrap().session());
    session.begin(Request::default());
    sent(&mut session, 100);
    session
}

/// Feeds frames to a session. Returns the results of the requests that ended, and the number of events that were
/// reported while answers were incomplete.
fn streamed(session: &mut ClientSession, frames: &[&[u8]]) -> (Vec<(Outcome, u64, u32)>, u32) {
    let (mut ended, mut events) = (Vec::new(), 0);
    for frame in frames {
        session.receive(frame, &mut |done| ended.push((done.outcome, done.bytes, done.events))).unwrap();
        session.each_begun_answer(&mut |which, n| {
            assert_eq!(which, Which::Oldest);
            events += n;
        });
    }
    (ended, events)
}

#[test]
fn messages_are_events_until_the_marker_or_the_close() {
    let [a, b, end] = [&b"a"[..], b"bc", b"the END"].map(|text| framed(FIN | frame::TEXT, text));
    let close = |code: u16| framed(FIN | frame::CLOSE, &code.to_be_bytes());
    let last = [b.clone(), end].concat();
    assert_eq!(streamed(&mut stream("END"), &[&a, &last]), (vec![(Outcome::Expected, 10, 1)], 1));
    assert_eq!(streamed(&mut stream(""), &[&a, &b, &close(1000)]), (vec![(Outcome::Expected, 3, 0)], 2));
    let (ended, _) = streamed(&mut stream("END"), &[&a, &close(1000)]);
    assert!(matches!(ended[..], [(Outcome::Failed(Fault::WrongBody(_)), 1, 0)]), "{ended:?}");
    assert_eq!(streamed(&mut stream(""), &[&a, &close(1011)]), (Vec::new(), 1), "a close with an error ends no stream");
}

#[test]
fn a_message_that_nobody_asked_for_is_no_answer() {
    let (news, answer) = (framed(FIN | frame::TEXT, b"news"), framed(FIN | frame::TEXT, b"id: 7"));
    let begun = |plan: &ClientPlan| {
        let mut session = accepted(plan.session());
        session.begin(Request::default());
        sent(&mut session, 100);
        session
    };
    let plan = plan(5, 0, |_| ()).unwrap();
    let (mut first, mut second) = (begun(&plan), begun(&plan));
    let mut ended = 0;
    assert!(first.receive(&[&answer[..], &news].concat(), &mut |_| ended += 1).is_err());
    assert_eq!(ended, 1);
    assert!(first.explain().unwrap().contains("--expect-text"), "{:?}", first.explain());
    // Because the server sent a message without a request, none of its messages counts as an answer any more, on any
    // connection.
    assert!(second.receive(&answer, &mut |_| ended += 1).is_err() && ended == 1);
    let mut early = open(0);
    early.begin(Request::default());
    assert!(early.receive(&news, &mut drop).is_err(), "it came before the request was sent");

    let mut told = begun(&super::plan(5, 0, |rule| rule.expect_text = "id:".into()).unwrap());
    let halves = [framed(frame::TEXT, b"i"), framed(FIN, b"d: 8")].concat();
    for (bytes, completed) in [(&news[..], 0), (&answer, 1), (&answer, 0), (&news, 0)] {
        assert_eq!(told.receive(bytes, &mut drop).unwrap().completed, completed);
    }
    told.begin(Request::default());
    sent(&mut told, 100);
    assert_eq!(told.receive(&halves, &mut drop).unwrap().completed, 1, "over parts of a message");
}

/// Feeds text messages to a session. Returns the IDs of the requests that the messages end, and the number of messages
/// without a request.
fn ended(session: &mut ClientSession, messages: &[&str]) -> Result<(Vec<Which>, u32), Fault> {
    let mut all = Vec::new();
    let bytes: Vec<u8> = messages.iter().flat_map(|text| framed(FIN | frame::TEXT, text.as_bytes())).collect();
    let progress = session.receive(&bytes, &mut |done| all.push(done.which))?;
    assert_eq!(progress.completed as usize, all.len());
    Ok((all, progress.unasked))
}

#[test]
fn each_message_has_its_id_and_only_its_answer_ends_it() {
    crate::received_files::add_received_file(
        "ids-of-websocket.json".into(),
        br#"{"params": [{"id": "x", "n": 1.50}]}"#.to_vec(),
    );
    let plan = plan(5, 0, |rule| {
        rule.body_file = Some("ids-of-websocket.json".into());
        (rule.id_pointer, rule.answer_id_pointer) = (Some("/params/0/id".into()), Some("/reply~1to".into()));
    });
    let mut session = accepted(plan.unwrap().session());
    (0..3).for_each(|id| session.begin(Request { id, item: 0, ..Request::default() }));
    let all = sent(&mut session, 7);
    let (head, message) = (6, r#"{"params": [{"id": "1000000000", "n": 1.50}]}"#);
    let ids: Vec<String> = all
        .chunks(head + message.len())
        .map(|frame| {
            let mut text = frame[head..].to_vec();
            super::super::mask::apply(&mut text, *frame[2..].first_chunk().unwrap(), 0);
            let text = String::from_utf8(text).unwrap();
            assert_eq!((&text[..20], &text[30..]), (&message[..20], &message[30..]), "the rest stays as it is");
            text[20..30].to_owned()
        })
        .collect();
    let news = r#"{"event": "price"}"#;
    let echo = format!("{{\"params\": [{{\"id\": \"{}\"}}]}}", ids[0]);
    let answer = |id: &str| format!("{{\"reply/to\": {id}}}");
    assert_eq!(ended(&mut session, &[news, "no JSON", &echo, &answer("1")]), Ok((vec![], 4)));
    assert!(session.explain().is_some_and(|why| why.contains("--answer-id-pointer") && why.contains("/reply~1to")));
    let (text, float) = (answer(&format!("\"{}\"", ids[2])), answer(&format!("{}.0", ids[0])));
    assert_eq!(ended(&mut session, &[&text, news, &float]), Ok((vec![Which::Id(2), Which::Id(0)], 1)));
    assert_eq!(ended(&mut session, &[&text, &answer(&ids[1])]), Ok((vec![Which::Id(1)], 1)), "each ID answers once");
    assert_eq!(session.explain(), None);
}

#[test]
fn the_answer_is_found_by_its_position() {
    let after = |messages: &[&str]| {
        let plan = plan(5, 0, |rule| (rule.answer_message, rule.exchange_messages) = (Some(2), Some(3)));
        let mut session = accepted(plan.unwrap().session());
        (0..2).for_each(|_| session.begin(Request::default()));
        sent(&mut session, 100);
        let found = ended(&mut session, messages).map(|(all, unasked)| (all.len(), unasked));
        (found, session.explain())
    };
    for (messages, answers) in [(1, 0), (2, 1), (4, 1), (5, 2), (6, 2)] {
        assert_eq!(after(&vec!["m"; messages]), (Ok((answers, 0)), None), "{messages}");
    }
    let (found, why) = after(&["m"; 7]);
    assert!(found.is_err() && why.is_some_and(|why| why.contains("--exchange-messages")));
    let plan = plan(5, 0, |rule| rule.answer_message = Some(1)).unwrap();
    let [mut first, mut second] = [0, 1].map(|_| accepted(plan.session()));
    [&mut first, &mut second].into_iter().for_each(|session| session.begin(Request::default()));
    [&mut first, &mut second].into_iter().for_each(|session| drop(sent(session, 100)));
    assert!(first.matches_answers_by_order() && ended(&mut first, &["answer", "event"]).is_err());
    assert!(ended(&mut second, &["event"]).is_err(), "no position is known any more");
}

#[test]
fn an_impossible_answer_rule_is_refused_with_advice() {
    crate::received_files::add_received_file("no-id-of-websocket.json".into(), br#"{"id": null, "list": []}"#.to_vec());
    fn body(rule: &mut AnswerSettings, pointer: &str) {
        (rule.body_file, rule.id_pointer) = (Some("no-id-of-websocket.json".into()), Some(pointer.into()));
    }
    for (set, words) in [
        ((|rule| body(rule, "id")) as fn(&mut AnswerSettings), "--id-pointer id: no JSON pointer"),
        (|rule| body(rule, "/id"), "no text and no number"),
        (|rule| body(rule, "/none\x1b"), "put any ID there"),
        (|rule| rule.id_pointer = Some("/id".into()), "no JSON"),
        (|rule| rule.answer_message = Some(0), "counted from 1"),
        (|rule| (rule.answer_message, rule.exchange_messages) = (Some(3), Some(2)), "at least 3"),
        (|rule| (rule.answer_message, rule.expect_text) = (Some(3), "x".into()), "only one of"),
    ] {
        let error = plan(5, 0, set).err().unwrap().to_string();
        assert!(error.contains(words) && !error.contains('\x1b'), "{words}: {error}");
    }
}
