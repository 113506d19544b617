use run::RequestPlan;

use super::*;

fn of(line: &str) -> RequestPlan {
    command(line).unwrap().found.remove(0).request
}

#[test]
fn options_joined_and_apart_make_the_same_request() {
    let apart = of("curl -s -X PUT -H 'A: b' -d x=1 -d y=2 http://h/p");
    assert_eq!(apart, of("curl -sXPUT -HA:\\ b --data=x=1 --data-raw y=2 --url http://h/p -o /dev/null"));
    assert_eq!((apart.method.as_str(), apart.body.as_str()), ("PUT", "x=1&y=2"));
    assert_eq!(of("curl -G h/p?a -d b=c --data-urlencode 'd=e f'").path, "/p?a&b=c&d=e+f");
    assert_eq!(of("curl -I h").method, "HEAD");
    assert!(of("curl -u me:you h").headers.contains(&("Authorization".into(), "Basic bWU6eW91".into())));
    assert!(!of("curl -H Accept: h").headers.iter().any(|(name, _)| name == "Accept"));
}

#[test]
fn a_header_replaces_what_an_option_makes_in_any_order() {
    for line in [
        "curl h --compressed -A a --json 1 -b x=y -u a:b -e r -H 'accept-encoding: br' -H 'USER-agent: u' -H 'content-TYPE: t' \
         -H 'accept: j' -H 'cookie: c' -H 'authorization: z' -H 'referer: q'",
        "curl -H 'accept-encoding: br' -H 'USER-agent: u' -H 'content-TYPE: t' -H 'accept: j' -H 'cookie: c' \
         -H 'authorization: z' -H 'referer: q' me:pw@h --compressed -A a --json 1 -b x=y -e r",
    ] {
        let mut names: Vec<_> = of(line).headers.into_iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
        names.sort();
        let all = ["accept", "accept-encoding", "authorization", "content-type", "cookie", "referer", "user-agent"];
        assert_eq!(names, all, "{line}");
    }
    let value = |line: &str, name: &str| of(line).headers.into_iter().find(|(n, _)| n == name).map(|(_, value)| value);
    assert_eq!(value("curl h -b a=1 -b 'b=2; c=3'", "Cookie").as_deref(), Some("a=1;b=2; c=3"));
    assert_eq!(value("curl h -d x -H 'Content-Type: '", "Content-Type"), None);
    assert_eq!(value("curl h -e 'r;auto'", "Referer").as_deref(), Some("r"));
    assert_eq!((value("curl h -e ';auto'", "Referer"), value("curl h -e r -e ''", "Referer")), (None, None));
    assert_eq!(value("curl u:p@h -H Authorization:", "Authorization"), None);
    assert_eq!((of("curl h -A ''").without_user_agent, of("curl h -A a").without_user_agent), (true, false));
    assert_eq!(of(r"curl h -d $'\xff'").body_base64, "/w==");
}

#[test]
fn the_path_is_what_curl_sends() {
    assert_eq!(of("curl h/a/../b?c=../d").path, "/b?c=../d");
    assert_eq!(of("curl --path-as-is h/a/../b").path, "/a/../b");
    assert_eq!(of("curl -g 'h/?a[]={1}'").path, "/?a[]={1}");
    assert_eq!(of(r"curl -g 'h/?a\[\]=1'").path, r"/?a\[\]=1");
    assert_eq!(of(r"curl 'h/?a\[\]=1&b=\{c\}&d[]=2'").path, "/?a[]=1&b={c}&d[]=2");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a b.txt"), "x").unwrap();
    let file = folder.path().join("a b.txt").display().to_string();
    assert_eq!(of(&format!("curl -T '{file}' h/up/")).path, "/up/a%20b.txt");
    assert_eq!(of(&format!("curl -T '{file}' h/up/c")).path, "/up/c");
}

#[test]
fn what_reads_the_answer_is_no_request() {
    assert_eq!(of("curl -s h/a | jq '.x' | head -1").path, "/a");
    let text = "curl h/a | jq . | head\ncurl -d \"p=^[a-z]\" h/d\n";
    let all = read(&Source { file: "f", text, folder: std::path::Path::new(".") }).unwrap();
    assert_eq!((all.found.len(), all.left_out.len()), (2, 0));
}

/// curl refuses the first line, because its URL would contain a blank.
#[test]
fn a_line_whose_url_would_contain_a_blank_is_left_out_and_named() {
    let text = "curl http://h/three -G -d 'q=a b'\ncurl http://h/ok\ncurl h/three -G --data-urlencode 'q=a b'\n";
    let all = read(&Source { file: "f", text, folder: std::path::Path::new(".") }).unwrap();
    assert_eq!(all.found.iter().map(|found| found.request.path.as_str()).collect::<Vec<_>>(), ["/ok", "/three?q=a+b"]);
    let said = all.left_out_words().unwrap();
    assert!(
        said.starts_with("requests left out: 1 that cannot be read (line 1, column 6: -G with \"q=a b\""),
        "{said}"
    );
}

#[test]
fn options_that_change_more_than_the_request_are_told() {
    let remarks = command("curl -L --http2 --http2 -k h").unwrap().remarks;
    assert_eq!(remarks.len(), 3, "{remarks:?}");
    assert!(remarks[0].contains("redirect") && remarks[1].contains("--http2"), "{remarks:?}");
}

#[test]
fn arguments_of_curl_that_are_not_supported_are_named_with_their_column() {
    for (line, says) in [
        ("curl --haeder x h", "column 6: --haeder is not known here; did you mean --header?"),
        ("curl h -H", "column 8: -H needs a value"),
        ("curl -F a=b h", "--data-binary @FILE"),
        ("curl -H 'Transfer-Encoding: chunked' -d x h", "Transfer-Encoding"),
        ("curl -u me h", "-u NAME:PASSWORD"),
        ("curl -T - h", "name a file"),
        ("curl 'h/{a,b}'", "column 6: '{' in \"h/{a,b}\" stands for several URLs"),
        ("curl -H $'A: \\xff' h", "not UTF-8"),
        ("curl h i", "column 8: a second URL"),
        ("wget h", "not a curl command line"),
        ("curl 'h", "column 6: a quotation mark"),
        ("curl -d @/nonexistent h", "cannot read /nonexistent"),
        ("curl -s", "names no URL"),
        ("curl http://h/three -G -d 'q=a b'", "column 6: -G with \"q=a b\": a URL has no blanks"),
        ("curl -X CONNECT h", "this would be a request CONNECT (it opens a tunnel"),
        ("curl -H 'Content-Length: 9' -d abc h", "this would be a request with a Content-Length that is not"),
        ("curl -X 'A B' h", "the method \"A B\" is no single word"),
        ("curl -H $'A: b\\nc' h", "the header \"A\" has a wrong name or a control character"),
    ] {
        let error = command(line).unwrap_err().to_string();
        assert!(error.contains(says), "{line}: {error}");
    }
}

#[test]
fn one_odd_command_is_left_out_and_named() {
    let text = "curl http://h/a\ncurl -H \"A: $TOKEN\" http://h/b\ncurl --nosuch http://h/c\ncurl http://h/d\n";
    let all = (FORMAT.read)(&Source { file: "f", text, folder: std::path::Path::new(".") }).unwrap();
    let paths: Vec<&str> = all.found.iter().map(|found| found.request.path.as_str()).collect();
    assert_eq!(paths, ["/a", "/d"]);
    let said = all.left_out_words().unwrap();
    assert!(
        said.starts_with("requests left out: 2 that cannot be read (first in line 2, column 13: a variable"),
        "{said}"
    );
}
