use run::DataTable;

use super::*;

fn source(order: DataOrder) -> Source {
    let rows = [["ann", "a b"], ["bob", "ü"]].map(|row| row.map(str::to_owned).to_vec()).to_vec();
    let data = DataTable { columns: vec!["user".into(), "term".into()], rows, order, first: 1, step: 2 };
    Source::new(&RequestSet { data: Some(data), templates: true, ..RequestSet::default() })
}

fn filled(source: &Source, text: &str, in_path: bool) -> String {
    let (pieces, mut rng, mut out) = (source.cut(text, in_path).unwrap(), Rng::with_seed(1), Vec::new());
    let index = source.next_index(&mut rng);
    source.fill(&pieces, index, &[], &mut rng, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn places_are_filled_row_by_row_in_this_process_share() {
    let source = source(DataOrder::Cycle);
    assert_eq!(filled(&source, "/{{user}}?q={{ term }}&n={{seq}}", true), "/bob?q=%C3%BC&n=2");
    assert_eq!(filled(&source, "{{user}}: {{term}} {{seq}}", false), "bob: ü 4");
    assert_eq!(filled(&source, "no placeholders", false), "no placeholders");
}

#[test]
fn a_captured_blank_does_not_end_the_path() {
    let mut request = RequestPlan::default();
    request.capture.insert("v".into(), "json:/v".into());
    let source = Source::new(&RequestSet { requests: vec![request], templates: true, ..RequestSet::default() });
    let fill = |in_path| {
        let (pieces, mut rng, mut out) = (source.cut("/x/{{v}}", in_path).unwrap(), Rng::with_seed(1), Vec::new());
        let index = source.next_index(&mut rng);
        source.fill(&pieces, index, &[b"a b\x7f?c=%20".to_vec()], &mut rng, &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!((fill(true), fill(false)), ("/x/a%20b%7F?c=%20".into(), "/x/a b\x7f?c=%20".into()));
}

#[test]
fn drawn_values_are_of_their_kind() {
    let source = source(DataOrder::Random);
    let uuid = filled(&source, "{{uuid}}", false);
    let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
    assert!(parts == [8, 4, 4, 4, 12] && uuid.as_bytes()[14] == b'4' && "89ab".contains(&uuid[19..20]), "{uuid}");
    let number: u64 = filled(&source, "{{random 5 7}}", false).parse().unwrap();
    assert!((5..=7).contains(&number));
    assert!(filled(&source, "{{zipf 10 20 1.1}}", false).parse::<u64>().unwrap() >= 10);
}

#[test]
fn unknown_placeholders_are_named_with_the_nearest() {
    let source = source(DataOrder::Cycle);
    for (text, says) in [
        ("{{usre}}", "did you mean {{user}}?"),
        ("{{user", "close it"),
        ("{{random 5 1}}", "smaller number first"),
        ("{{random x 1}}", "whole numbers"),
        ("{{zipf 1 9 x}}", "zipf 1 1000000"),
        ("{{a b}}", "write {{NAME}}"),
    ] {
        let error = source.cut(text, false).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
    assert_eq!(without_placeholders("/a/{{random 1 2}}/b{{"), "/a/0/b{{");
    let bare = Source::new(&RequestSet { templates: true, ..RequestSet::default() });
    assert_eq!(
        bare.cut("/d/{{id}}", true).unwrap_err().to_string(),
        "the placeholder {{id}} names no value: give values with --data FILE, in a column id, or write something \
         captured, seq, uuid, random A B or zipf A B S; did you mean {{uuid}}?"
    );
}
