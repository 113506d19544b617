//! Tests with PostgreSQL as the target. loadline's counts must equal the server's own counts, and loadline must report
//! logins and errors. `find` must find the limit that PgBouncer's pool sets.

use std::process::Command;

use serde_json::{Value, json as value};
use testkit::{Postgres, alone, binary, json, json_of, num, refused, total};

use super::planted_limits;

/// SQL statements that a load executes. One third of the executed statements change a row, and two thirds read a row.
const STATEMENTS: &str = "-- name=count\nUPDATE counted SET n = n + 1 WHERE id = {{random 1 100}}\n\
    -- name=read weight=2\nSELECT n FROM counted WHERE id = {{random 1 100}} AND '{{uuid}}' <> 'x';\n";
/// Settings of a PostgreSQL server that counts the calls of each statement.
const COUNTING: &[&str] = &["fsync=off", "shared_preload_libraries=pg_stat_statements"];

fn load(url: &str, more: &[&str]) -> Value {
    load_with("4", url, more)
}

fn load_with(connections: &str, url: &str, more: &[&str]) -> Value {
    let args = ["load", url, "--connections", connections, "--duration", "500ms", "--warmup", "0s", "--at-rest", "0s"];
    json(binary!(), &[&args[..], more].concat())
}

#[test]
fn counts_of_statements_equal_those_of_the_server() {
    let _alone = alone();
    let Some(server) = Postgres::start("PostgreSQL as the target", COUNTING) else { return };
    server.psql("CREATE EXTENSION pg_stat_statements");
    server.psql("CREATE TABLE counted AS SELECT id, 0 AS n FROM generate_series(1, 100) id");
    let file = server.dir.path().join("statements.sql");
    std::fs::write(&file, STATEMENTS).unwrap();
    let file = file.display().to_string();
    let unix = format!("postgres://postgres@/postgres?host={}&port={}", server.dir.path().display(), server.port);
    for (url, more) in [
        (server.url(), &["--io", "epoll"][..]),
        (server.url(), &["--pipeline", "8"]),
        (server.url(), &["--prepared"]),
        (unix, &["--prepared", "--pipeline", "4"]),
        (server.url(), &["--new-connections"]),
    ] {
        server.psql("SELECT pg_stat_statements_reset(); UPDATE counted SET n = 0");
        let run = load(&url, &[&["--statements", &file][..], more].concat());
        assert_eq!(run["trials"][0]["errors"], value!({}), "{more:?}");
        let calls = |begin: &str| {
            let of = format!("SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query LIKE '{begin}%'");
            server.psql(&of).parse::<u64>().unwrap()
        };
        let counted: u64 = server.psql("SELECT sum(n) FROM counted").parse().unwrap();
        let [count, read, all] = [calls("UPDATE counted SET n = n"), calls("SELECT n FROM"), total(&run, "completed")];
        assert_eq!((count, count + read), (counted, all), "{more:?}");
        assert!(count == testkit::completed_by_class(&run)["count"] && count > 20, "{more:?}: {count}");
        assert!((num(&value!(read)) / num(&value!(count)) - 2.0).abs() < 1.0, "{more:?}: {read} of {count}");
    }
}

#[test]
fn failed_statements_are_counted_by_their_sqlstate() {
    let Some(server) = Postgres::start("SQLSTATE of failed statements", &["fsync=off"]) else { return };
    server.psql("CREATE TABLE single (id int PRIMARY KEY)");
    let run = load(&server.url(), &["--statement", "INSERT INTO single VALUES (1)"]);
    let trial = &run["trials"][0];
    let refused = &trial["unexpected_statuses"]["23505 unique violation"];
    assert!(refused.as_u64().is_some_and(|n| n > 10 && n == trial["unexpected_status"]), "{trial}");
    assert_eq!(trial["errors"], value!({}));
}

#[test]
fn passwords_are_sent_and_kept_nowhere() {
    let Some(server) = Postgres::start("a login with a password", &["fsync=off"]) else { return };
    server.psql("CREATE ROLE watcher LOGIN PASSWORD 'hunter3'");
    let url = |login: &str| format!("postgres://{login}@127.0.0.1:{}/postgres", server.port);
    // In an unoptimized program, a login by SCRAM takes a long time, so the test expects few statements.
    let run = load_with("1", &url("watcher:hunter3"), &[]);
    assert!(total(&run, "completed") > 5 && total(&run, "handshakes") >= 2, "{}", run["trials"][0]);
    assert!(!run.to_string().contains("hunter"));
    let mut command = Command::new(binary!());
    command.args(["load", &url("watcher"), "--connections", "1", "--duration", "300ms"]);
    assert!(total(&json_of(command.env("PGPASSWORD", "hunter3")), "completed") > 5);
    let said = refused(binary!(), &["load", &url("watcher:hunter4")]);
    assert!(said.contains("28P01") && said.contains("~/.pgpass") && !said.contains("hunter"), "{said}");
    let said = refused(binary!(), &["load", &server.url(), "--statement", "SELECT * FROM nosuch"]);
    assert!(said.contains("42P01") && said.contains("correct the statement"), "{said}");
}

#[test]
fn connections_beyond_the_limit_of_the_server_are_named() {
    let settings = ["fsync=off", "max_connections=8", "superuser_reserved_connections=0"];
    let Some(server) = Postgres::start("max_connections", &settings) else { return };
    let run = load_with("20", &server.url(), &[]);
    let failures = run["trials"][0]["first_failures"].to_string();
    assert!(failures.contains("53300") && failures.contains("raise its max_connections"), "{failures}");
}

#[test]
fn statements_go_within_tls() {
    let test = "PostgreSQL within TLS";
    if !testkit::has(test, "openssl") {
        return;
    }
    let files = tempfile::tempdir().unwrap();
    testkit::self_signed(files.path());
    let file = |name: &str| files.path().join(name).display().to_string();
    if testkit::is_root() {
        let own = |name: &str| std::os::unix::fs::chown(file(name), Some(testkit::NOBODY), Some(testkit::NOBODY));
        own("key").unwrap();
    }
    std::fs::set_permissions(file("key"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let (cert, key) = (format!("ssl_cert_file={}", file("cert")), format!("ssl_key_file={}", file("key")));
    let Some(server) = Postgres::start(test, &["fsync=off", "ssl=on", &cert, &key]) else { return };
    let at = format!("localhost:{}/postgres", server.port);
    let url = format!("postgres://postgres@{at}?sslmode=require");
    let of_tls = "SELECT 1 / count(*) FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl";
    let run = load(&url, &["--cacert", &file("cert"), "--statement", of_tls]);
    assert!(total(&run, "completed") > 20 && total(&run, "unexpected_status") == 0, "{}", run["trials"][0]);
    let plain = Postgres::start(test, &["fsync=off"]).unwrap();
    let url = format!("postgres+tls://postgres@localhost:{}/postgres", plain.port);
    let said = refused(binary!(), &["load", &url, "--insecure"]);
    assert!(said.contains("refuses TLS"), "{said}");
}

/// Clients connect to PgBouncer, which passes their statements on. PgBouncer and PostgreSQL must both count exactly the
/// statements that loadline counts.
#[test]
fn counts_of_statements_equal_those_of_pgbouncer() {
    let _alone = alone();
    let test = "PgBouncer as the target";
    let Some(server) = Postgres::start(test, COUNTING) else { return };
    let Some((_bouncer, port)) = server.pgbouncer(test, 3) else { return };
    server.psql("CREATE EXTENSION pg_stat_statements");
    let url = |database: &str| format!("postgres://postgres@127.0.0.1:{port}/{database}");
    let of_pgbouncer = || {
        let table = server.psql_at(&url("pgbouncer"), "SHOW STATS_TOTALS");
        let row = table.lines().find(|row| row.starts_with("postgres|")).unwrap_or("postgres|0|0").to_owned();
        row.split('|').nth(2).unwrap().parse::<u64>().unwrap()
    };
    for more in [&[][..], &["--io", "epoll"], &["--new-connections"]] {
        server.psql("SELECT pg_stat_statements_reset()");
        let before = of_pgbouncer();
        let run = load(&url("postgres"), &[&["--statement", "SELECT 7 AS seven"][..], more].concat());
        let completed = total(&run, "completed");
        assert_eq!((&run["trials"][0]["errors"], completed > 20), (&value!({}), true), "{more:?}: {completed}");
        let of = "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements WHERE query LIKE '%AS seven'";
        let counts = [of_pgbouncer() - before, server.psql(of).parse().unwrap()];
        assert_eq!(counts, [completed; 2], "{more:?}");
    }
}

/// A pool of connections that mostly sleep.
mod idle {
    use super::*;

    /// Each statement takes 10 ms on one of three connections, so PgBouncer passes at most 300 statements per second.
    #[test]
    fn find_finds_the_pool_of_pgbouncer() {
        let _alone = alone();
        let test = "the pool of PgBouncer";
        let Some(server) = Postgres::start(test, &["fsync=off"]) else { return };
        let Some((_bouncer, port)) = server.pgbouncer(test, 3) else { return };
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let run = json(binary!(), &["find", &url, "--statement", "SELECT pg_sleep(0.01)", "--budget", "30s"]);
        planted_limits::check(&run, 200.0..=300.0);
    }
}
