//! The C example, compiled with the system's compiler against the static and the shared library, on every back end.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The directory of the libraries: two levels above this test program.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().to_path_buf()
}

fn skip(what: &str) {
    println!("SKIP a_c_program_uses_both_libraries: {what}");
    assert!(std::env::var("LOADLINE_REQUIRE").as_deref() != Ok("all"));
}

/// The program that the page for users shows.
fn shown_program(dir: &Path) -> PathBuf {
    let page = include_str!("../../../../docs/event-library.md");
    let program = page.split("```c\n").nth(1).unwrap().split("```").next().unwrap();
    let source = dir.join("hello.c");
    std::fs::write(&source, program).unwrap();
    source
}

fn build(cc: &str, program: &Path, out: &Path, library: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    let status = Command::new(cc)
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(source.join("include"))
        .arg(program)
        .arg("-o")
        .arg(out)
        .args(library)
        .status()
        .unwrap();
    assert!(status.success());
}

fn echoes(program: &Path, backend: &str) {
    let mut child = Command::new(program)
        .arg("2")
        .env("LOADLINE_EVENTS", backend)
        .env("LD_LIBRARY_PATH", libraries())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port: u16 = line.trim().parse().unwrap();
    let mut first = TcpStream::connect(("127.0.0.1", port)).unwrap();
    first.write_all(b"first").unwrap();
    let mut got = [0; 5];
    first.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"first", "{backend}");
    first.write_all(b"again").unwrap();
    first.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"again", "{backend}");
    first.shutdown(Shutdown::Write).unwrap();
    assert_eq!(first.read(&mut got).unwrap(), 0, "{backend}: closed after our end");
    drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
    assert!(child.wait().unwrap().success(), "{backend}");
}

#[test]
fn a_c_program_uses_both_libraries() {
    let Some(cc) = ["cc", "gcc", "clang"]
        .into_iter()
        .find(|cc| Command::new(cc).arg("--version").stdout(Stdio::null()).status().is_ok_and(|s| s.success()))
    else {
        return skip("no C compiler");
    };
    let dir = tempfile::TempDir::new().unwrap();
    let lib = libraries();
    let archive = lib.join("libloadline_event_c.a");
    if !archive.exists() {
        // `cargo test` of the whole workspace builds it; a test run alone may not.
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let target = lib.parent().unwrap();
        let mut command = Command::new(cargo);
        command.args(["build", "-q", "-p", "loadline-event-c", "--target-dir"]).arg(target);
        if lib.ends_with("release") {
            command.arg("--release");
        }
        assert!(command.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
    }
    let (fixed, shared) = (dir.path().join("fixed"), dir.path().join("shared"));
    let echo = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/echo.c");
    build(cc, &echo, &fixed, &[archive.to_str().unwrap(), "-lpthread", "-ldl", "-lm", "-lgcc_s"]);
    let by_name = ["-L", lib.to_str().unwrap(), "-lloadline_event_c"];
    build(cc, &echo, &shared, &by_name);
    let hello = dir.path().join("hello");
    build(cc, &shown_program(dir.path()), &hello, &by_name);
    let said = Command::new(&hello).env("LD_LIBRARY_PATH", &lib).output().unwrap();
    assert_eq!((said.status.code(), said.stdout.as_slice()), (Some(0), &b"5 bytes\n"[..]));
    for backend in ["epoll", "uring", "poll", "select"] {
        echoes(&fixed, backend);
        echoes(&shared, backend);
    }
    let mut wrong = Command::new(&fixed)
        .env("LOADLINE_EVENTS", "kqueue")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(wrong.wait().unwrap().code(), Some(1));
}

#[test]
fn pkg_config_reads_our_file() {
    let dir = tempfile::TempDir::new().unwrap();
    let text = loadline_event_c::header::pkg_config("/opt/loadline");
    std::fs::write(dir.path().join("loadline-event.pc"), &text).unwrap();
    let Ok(out) = Command::new("pkg-config")
        .args(["--cflags", "--libs", "loadline-event"])
        .env("PKG_CONFIG_PATH", dir.path())
        .output()
    else {
        println!("SKIP pkg_config_reads_our_file: no pkg-config");
        assert!(text.contains("-lloadline_event_c"));
        return;
    };
    let shown = String::from_utf8(out.stdout).unwrap();
    assert!(shown.contains("-I/opt/loadline/include") && shown.contains("-lloadline_event_c"), "{shown}");
}
