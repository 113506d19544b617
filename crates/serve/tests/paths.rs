//! No file outside of the served directory may be sent (path traversal). The tests use HTTP/1.1 with every I/O model,
//! HTTP/2, and the proxy.

#![allow(clippy::unwrap_used, clippy::panic)] // also for the helper functions of tests

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use loadline_serve::{MODELS, Server, start};
use proto::{Request, by_scheme};
use run::ServePlan;

const INSIDE: &str = "served to everybody";
const OUTSIDE: &str = "served to nobody";

/// Targets of requests that try to leave the directory. Each kind of target once gave access to files outside the
/// directory of a well-known server.
const TRICKS: &[&str] = &[
    // These targets contain dots, unencoded or percent-encoded.
    "/../secret",
    "/../../secret",
    "/../../../../../../../../../../etc/passwd",
    "/..",
    "/../",
    "/sub/../../secret",
    "/sub/deep/../../../secret",
    "/index.html/../../secret",
    "/./../secret",
    "/.//../secret",
    "/sub/..",
    "/%2e%2e/secret",
    "/%2E%2E/secret",
    "/.%2e/secret",
    "/%2e./secret",
    "/%2e%2e%2fsecret",
    "/..%2fsecret",
    "/..%2Fsecret",
    "/sub/..%2f..%2fsecret",
    "/sub%2f..%2f..%2fsecret",
    "/%2e%2e/%2e%2e/secret",
    // These targets are encoded twice, or violate RFC 3986.
    "/%252e%252e/secret",
    "/%252e%252e%252fsecret",
    "/..%252fsecret",
    "/%25%32%65%25%32%65/secret",
    "/%u002e%u002e/secret",
    "/%%32%65%%32%65/secret",
    "/%2/../secret",
    "/%zz/../secret",
    // These targets contain overlong or invalid UTF-8, or characters that look like dots and slashes.
    "/%c0%ae%c0%ae/secret",
    "/%c0%ae%c0%ae%c0%afsecret",
    "/..%c0%afsecret",
    "/%e0%80%ae%e0%80%ae/secret",
    "/..%e0%80%afsecret",
    "/%f0%80%80%ae%f0%80%80%ae/secret",
    "/..%ff/secret",
    "/%ef%bc%8e%ef%bc%8e/secret",
    "/..%e2%88%95secret",
    // These targets contain backslashes or semicolons, or have dots or white space at the end of a name.
    "/..\\secret",
    "/..%5csecret",
    "/sub\\..\\..\\secret",
    "/..;/secret",
    "/..;a=b/secret",
    "/;/../secret",
    "/.../secret",
    "/....//secret",
    "/..%20/secret",
    "/..%09/secret",
    "/..%0d%0a/secret",
    // These targets contain a NUL byte, which ends a file name in C.
    "/../secret%00.html",
    "/index.html%00/../../secret",
    "/%00/../secret",
    "/..%00/secret",
    // These targets are absolute paths, or have other forms of a request target.
    "//../secret",
    "///../secret",
    "//etc/passwd",
    "/%2fetc%2fpasswd",
    "/%2f/etc/passwd",
    "/file:///etc/passwd",
    "/C:/secret",
    "//x/../secret",
    "http://x/../secret",
    "http://x/%2e%2e/secret",
    "http://x//../secret",
    "http://../secret",
    "file:///etc/passwd",
    "../secret",
    "%2e%2e/secret",
    "*",
    // In these targets, the dots are in the query or after it.
    "/?/../secret",
    "/..?/secret",
    "/../secret?x",
    "/%3f/../secret",
    "/%23/../secret",
    // Symbolic links that lead out of the directory, and names that are no regular files.
    "/link",
    "/absolute-link",
    "/out/secret",
    "/out/root/../secret",
    "/out-of-out/secret",
    "/leads-out/",
    "/leads-out",
    "/system/passwd",
    "/kernel/self/environ",
    "/kernel/self/root/etc/passwd",
    "/loop",
    "/loop/secret",
    "/zeros",
    "/pipe",
    "/../root-beside/secret",
    "/../rootsecret",
];

/// Targets that must be served. If only refusals were tested, a server that refuses everything would pass this test.
const SERVED: &[&str] =
    &["/", "/index.html", "/%69ndex.html", "/sub/file", "/sub//file", "/inner", "/a;b", "/sub/file?../.."];

/// Creates a directory `root` with files and symbolic links that lead out of it, and secret files next to `root`.
fn directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let (outer, root) = (dir.path(), dir.path().join("root"));
    for sub in ["root/sub/deep", "root/leads-out", "root-beside"] {
        std::fs::create_dir_all(outer.join(sub)).unwrap();
    }
    ["index.html", "sub/file", "a;b"].iter().for_each(|file| std::fs::write(root.join(file), INSIDE).unwrap());
    ["secret", "root-beside/secret", "rootsecret"]
        .iter()
        .for_each(|file| std::fs::write(outer.join(file), OUTSIDE).unwrap());
    let secret = outer.join("secret");
    let links: &[(&Path, &str)] = &[
        (Path::new("sub/file"), "inner"),
        (Path::new("../secret"), "link"),
        (&secret, "absolute-link"),
        (Path::new(".."), "out"),
        (Path::new("out"), "out-of-out"),
        (Path::new("../../secret"), "leads-out/index.html"),
        (Path::new("/etc"), "system"),
        (Path::new("/proc"), "kernel"),
        (Path::new("loop"), "loop"),
        (Path::new("/dev/zero"), "zeros"),
    ];
    links.iter().for_each(|(to, name)| symlink(to, root.join(name)).unwrap());
    // No process writes to the pipe, so opening it for reading would block forever.
    assert!(std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap().success());
    dir
}

fn serve(service: &str, model: &str, dir: &Path, options: &[(&str, String)]) -> Server {
    let (service, model, root) = (service.into(), model.into(), Some(dir.join("root").display().to_string()));
    let options = options.iter().map(|(k, v)| ((*k).into(), v.clone())).collect();
    start(&ServePlan { service, model, root, options, ..ServePlan::default() }).unwrap()
}

/// Returns the response to a request for `target`.
fn ask(to: SocketAddr, target: &str) -> String {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).unwrap_or_else(|e| panic!("{target}: {e}"));
    String::from_utf8_lossy(&said).into_owned()
}

/// Returns true if a response contains data from outside the directory.
fn escaped(said: &str) -> bool {
    said.contains(OUTSIDE) || said.contains("root:") || said.contains("PATH=")
}

#[track_caller]
fn nothing_escapes(to: SocketAddr, what: &str) {
    for target in SERVED {
        let said = ask(to, target);
        assert!(said.starts_with("HTTP/1.1 200 ") && said.ends_with(INSIDE), "{what}: {target}: {said}");
    }
    for target in TRICKS {
        let said = ask(to, target);
        assert!(!escaped(&said), "{what}: {target}: {said}");
        // The dots of this target are in its query, so the page is the correct response.
        let page = *target == "/?/../secret" && said.ends_with(INSIDE);
        assert!(page || said.starts_with("HTTP/1.1 4"), "{what}: {target}: {said}");
    }
}

#[test]
fn the_check_finds_secrets() {
    assert!(TRICKS.len() >= 44);
    let dir = directory();
    for way in ["root/link", "root/out/secret", "root/leads-out/index.html", "root/system/passwd"] {
        assert!(escaped(&std::fs::read_to_string(dir.path().join(way)).unwrap()), "{way}");
    }
}

#[test]
fn no_path_leads_outside_the_directory_with_any_model() {
    let dir = directory();
    for model in MODELS {
        let server = serve("http", model.name, dir.path(), &[]);
        nothing_escapes(server.local_addr(), model.name);
    }
}

#[test]
fn no_path_leads_outside_the_directory_through_the_proxy() {
    let dir = directory();
    let back = serve("http", "epoll", dir.path(), &[]);
    for events in ["epoll", "uring"] {
        let options = [("upstream", back.local_addr().to_string()), ("events", events.to_owned())];
        let front = serve("proxy", "", dir.path(), &options);
        nothing_escapes(front.local_addr(), events);
    }
}

/// Makes a request by HTTP/2, and returns all received bytes. Returns `None` if loadline's client refuses to send the
/// target.
fn asked(addr: SocketAddr, plan: &run::Protocol) -> Option<String> {
    let mut sessions = proto::client(plan, None, None).ok()?.sessions(1);
    let (session, mut stream) = (sessions.session(0), TcpStream::connect(addr).unwrap());
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut buf, mut said, mut done, mut begun) = (vec![0; 50_000], Vec::new(), 0, false);
    while done == 0 {
        if session.ready() && !begun {
            session.begin(Request { id: 0, item: 0, ..Request::default() });
            begun = true;
        }
        while let n @ 1.. = session.transmit(&mut buf) {
            stream.write_all(&buf[..n]).unwrap();
        }
        let n = stream.read(&mut buf).unwrap();
        said.extend_from_slice(&buf[..n]);
        if n == 0 || session.receive(&buf[..n], &mut |_| done += 1).is_err() {
            break;
        }
    }
    Some(String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn no_path_leads_outside_the_directory_by_http2() {
    let dir = directory();
    let server = serve("h2", "epoll", dir.path(), &[]);
    let (row, _) = by_scheme("h2c").unwrap();
    let ask = |target: &str| {
        let mut plan = (row.defaults)();
        (row.set_target)(&mut plan, "localhost", target);
        asked(server.local_addr(), &plan)
    };
    SERVED.iter().for_each(|target| assert!(ask(target).unwrap().contains(INSIDE), "{target}"));
    let said: Vec<(&str, String)> = TRICKS.iter().filter_map(|target| Some((*target, ask(target)?))).collect();
    assert!(said.len() >= 44, "{} of {} were sent", said.len(), TRICKS.len());
    said.iter().for_each(|(target, said)| assert!(!escaped(said), "{target}: {said}"));
}
