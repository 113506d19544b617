use super::*;

fn jar(https: bool, begun: &str, lines: &[&str]) -> CookieJar {
    let mut jar = CookieJar::new("www.Shop.example:8080", https);
    jar.begin(begun.as_bytes());
    lines.iter().for_each(|line| jar.store(line.as_bytes()));
    jar
}

fn sent(jar: &mut CookieJar, target: &str, own: &str) -> String {
    let mut to = Vec::new();
    jar.begin(target.as_bytes());
    assert_eq!(jar.write(own.as_bytes(), &mut to), !to.is_empty());
    String::from_utf8(to).unwrap()
}

#[test]
fn a_cookie_is_sent_where_its_path_leads() {
    let lines = ["a=1; Path=/shop", "b=2", "c=3; path=/", "d=4; Path=shop", "e=5; Path=/shop/"];
    let mut jar = jar(false, "/in/door?x=/y/z", &lines);
    assert_eq!(sent(&mut jar, "/shop/x", ""), "e=5; a=1; c=3");
    assert_eq!(sent(&mut jar, "/shop", ""), "a=1; c=3");
    assert_eq!(sent(&mut jar, "/shopping?/in", ""), "c=3");
    assert_eq!(sent(&mut jar, "/in/x", "own=7; b=0"), "own=7; b=0; d=4; c=3", "one header, its own first");
    assert_eq!(sent(&mut jar, "/", "own=7"), "own=7; c=3");
}

#[test]
fn a_cookie_ends_when_it_is_told_to() {
    let mut jar = jar(false, "/", &["a=1", "b=2; Max-Age=1000", "c=3; Expires=Wed, 09 Jun 2199 10:18:14 GMT", "d=4"]);
    assert_eq!(sent(&mut jar, "/", ""), "a=1; b=2; c=3; d=4");
    for end in [
        "a=; expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "b=; Max-Age=0; Expires=Wed, 09 Jun 2199 10:18:14 GMT",
        "c=; Expires=Sunday, 06-Nov-94 08:49:37 GMT",
        "d=; max-age=-5",
    ] {
        jar.store(end.as_bytes());
    }
    assert_eq!(sent(&mut jar, "/", ""), "");
    jar.store(b"e=5; Max-Age=x; Expires=no date");
    jar.store(b"f=x-max-age=0");
    jar.store(b"=without a name");
    assert_eq!(sent(&mut jar, "/", ""), "e=5; f=x-max-age=0");
}

#[test]
fn a_cookie_belongs_to_its_server() {
    let lines = [
        "a=1; Domain=shop.example",
        "b=2; domain=.Shop.Example",
        "c=3; Domain=evil.example",
        "d=4; Domain=op.example",
        "s=5; Secure",
    ];
    assert_eq!(sent(&mut jar(false, "/", &lines), "/", ""), "a=1; b=2");
    assert_eq!(sent(&mut jar(true, "/", &lines), "/", ""), "a=1; b=2; s=5");
    let mut address = CookieJar::new("10.0.0.1:80", false);
    address.store(b"a=1; Domain=0.1");
    assert_eq!(sent(&mut address, "/", ""), "");
}

#[test]
fn memory_is_bounded() {
    let mut jar = CookieJar::new("h", false);
    let mut closed = CookieJar::closed();
    closed.store(b"a=1");
    assert!(closed.all.is_empty());
    (0..99).for_each(|i| jar.store(format!("c{i}=1; Path=/").as_bytes()));
    jar.store(&[b"long=".as_slice(), &[b'x'; 5000]].concat());
    assert_eq!(jar.all.len(), MAX_COOKIES);
}

#[test]
fn dates_are_read_in_the_forms_that_servers_write() {
    for (text, at) in [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Thu, 29-Feb-2024 00:00:00 GMT", 1_709_164_800),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ] {
        assert_eq!(date(text.as_bytes()), Some(at), "{text}");
    }
    for wrong in ["", "06 Nov 1994", "32 Nov 1994 08:49:37", "6 Nov 1994 25:00:00", "6 Nov 1500 08:49:37"] {
        assert_eq!(date(wrong.as_bytes()), None, "{wrong}");
    }
}
