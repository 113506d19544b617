//! Compiles the C example with the system's compiler against the static and the shared library, and runs it on every
//! backend.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the directory with the libraries, two levels above this test program.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().to_path_buf()
}

/// Extracts the example program from `docs/reference/event-library.md` into a file.
fn shown_program(dir: &Path) -> PathBuf {
    let page = include_str!("../../../../docs/reference/event-library.md");
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

fn echoes(program: &Path, lib: &Path, backend: &str) {
    let mut child = Command::new(program)
        .arg("2")
        .env("LOADLINE_EVENTS", backend)
        .env("LD_LIBRARY_PATH", lib)
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

fn compiler() -> Option<&'static str> {
    let runs = |cc: &&str| Command::new(cc).arg("--version").stdout(Stdio::null()).status().is_ok_and(|s| s.success());
    ["cc", "gcc", "clang"].into_iter().find(runs)
}

/// Returns the path of the static library. The shared library is in the same directory as the static library.
fn archive() -> PathBuf {
    let lib = libraries();
    let archive = lib.join("libloadline_event_c.a");
    if !archive.exists() {
        // `cargo test` for the whole workspace builds the static library. `cargo test` for this test alone may not
        // build the static library.
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let target = lib.parent().unwrap();
        let mut command = Command::new(cargo);
        command.args(["build", "-q", "-p", "loadline-event-c", "--target-dir"]).arg(target);
        if lib.ends_with("release") {
            command.arg("--release");
        }
        assert!(command.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
    }
    archive
}

#[test]
fn a_c_program_uses_both_libraries() {
    let Some(cc) = compiler() else { return testkit::skip("the library for C", "no C compiler") };
    let dir = tempfile::TempDir::new().unwrap();
    let lib = libraries();
    let archive = archive();
    // Programs request the library by its SONAME.
    std::os::unix::fs::symlink(lib.join("libloadline_event_c.so"), dir.path().join("libloadline_event_c.so.0"))
        .unwrap();
    let (fixed, shared) = (dir.path().join("fixed"), dir.path().join("shared"));
    let echo = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/echo.c");
    build(cc, &echo, &fixed, &[archive.to_str().unwrap(), "-lpthread", "-ldl", "-lm"]);
    let by_name = ["-L", lib.to_str().unwrap(), "-lloadline_event_c"];
    build(cc, &echo, &shared, &by_name);
    let hello = dir.path().join("hello");
    build(cc, &shown_program(dir.path()), &hello, &by_name);
    let said = Command::new(&hello).env("LD_LIBRARY_PATH", dir.path()).output().unwrap();
    assert_eq!((said.status.code(), said.stdout.as_slice()), (Some(0), &b"5 bytes\n"[..]));
    for backend in ["epoll", "uring", "poll", "select"] {
        echoes(&fixed, dir.path(), backend);
        echoes(&shared, dir.path(), backend);
    }
    let mut wrong = Command::new(&fixed)
        .env("LOADLINE_EVENTS", "kqueue")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(wrong.wait().unwrap().code(), Some(1));
}

/// Returns the output of `pkg-config ARGS loadline-event` for an installation.
fn pkg_config(root: &Path, args: &[&str]) -> Option<Vec<String>> {
    let mut command = Command::new("pkg-config");
    command.args(args).arg("loadline-event").env("PKG_CONFIG_PATH", root.join("lib/pkgconfig"));
    let out = command.output().ok()?;
    assert!(out.status.success(), "{out:?}");
    Some(String::from_utf8(out.stdout).unwrap().split_whitespace().map(str::to_string).collect())
}

/// Installs the libraries into a directory, as `make install-event` does.
fn install(root: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts/install");
    let status = Command::new(script).arg("event").env("FROM", libraries()).env("PREFIX", root).status();
    assert!(status.unwrap().success());
}

#[test]
fn an_installed_library_links_by_its_soname_and_as_a_whole() {
    let Some(cc) = compiler() else { return testkit::skip("the library for C", "no C compiler") };
    let dir = tempfile::TempDir::new().unwrap();
    let root = dir.path().join("usr");
    archive();
    install(&root);
    let Some(shared) = pkg_config(&root, &["--cflags", "--libs"]) else {
        return testkit::skip("the library for C", "no pkg-config");
    };
    let fixed = pkg_config(&root, &["--static", "--cflags", "--libs"]).unwrap();
    let program = shown_program(dir.path());
    for (name, flags, first) in [("shared", shared, "-Wall"), ("fixed", fixed, "-static")] {
        let out = dir.path().join(name);
        let mut command = Command::new(cc);
        let status = command.arg(first).arg(&program).arg("-o").arg(&out).args(&flags).status().unwrap();
        assert!(status.success(), "{name}: {flags:?}");
        // A statically linked program needs no path to the libraries.
        let path = if name == "shared" { root.join("lib") } else { PathBuf::new() };
        let said = Command::new(&out).env("LD_LIBRARY_PATH", path).output().unwrap();
        assert_eq!((said.status.code(), said.stdout.as_slice()), (Some(0), &b"5 bytes\n"[..]), "{name}");
    }
    let needed = |file: &Path| {
        let out = Command::new("readelf").arg("-d").arg(file).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    assert!(needed(&root.join("lib/libloadline_event_c.so")).contains("soname: [libloadline_event_c.so.0]"));
    assert!(needed(&dir.path().join("shared")).contains("Shared library: [libloadline_event_c.so.0]"));
    assert!(!needed(&dir.path().join("fixed")).contains("Shared library"));
}
