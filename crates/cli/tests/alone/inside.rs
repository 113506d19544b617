//! Tests with programs from outside this project, each with one planted (deliberately added) cause of waiting or of CPU
//! use. The first sentence of the verdict must name this cause. The programs' sources are in `inside/`. Packages are
//! downloaded from public registries to `target/applications`.

use std::process::Command;

use serde_json::Value;
use testkit::{OtherPrograms, alone_with_release, json, verdict};

mod packages;
mod servers;

use servers::Server;

/// A deliberately added cause, which the verdict must name.
enum Planted {
    /// A cause of waiting: its ID, and a part of the name of the lock, function or peer for which threads wait.
    Wait(&'static str, &'static str),
    /// A lock: a part of the name of the lock or of the waiting function, and the verdict's words for the activity of
    /// the lock's holder.
    Lock(&'static str, &'static str),
    /// A full pool of threads: the number of threads, and a part of their name.
    Threads(f64, &'static str),
    /// A full pool of workers: the number of the server's child processes, and their name.
    Pool(u32, &'static str),
    /// A function that uses the CPU. The function's name contains one of these texts.
    Function(&'static [&'static str]),
    /// Function that uses the CPU while it holds the interpreter lock of Python. This function also comes first among the
    /// functions with much CPU time.
    Holder(&'static str),
    /// ID of a cause that must not be found.
    Without(&'static str),
}

/// Returns true if the run has the expected verdict or finding. For a deliberately added cause, the verdict's sentence
/// must begin with the finding that names this cause.
fn is_named(run: &Value, planted: &Planted) -> bool {
    let sentence = run["findings"]["bottleneck"]["sentence"].as_str().unwrap_or_default();
    let list = |name: &str| run["findings"][name].as_array().cloned().unwrap_or_default();
    let wait = |cause: &str, name: &str| {
        list("waits").into_iter().find(|wait| {
            let has_name =
                ["name", "function", "peer"].iter().any(|key| wait[*key].as_str().unwrap_or_default().contains(name));
            wait["cause"] == cause && has_name && sentence.starts_with(wait["sentence"].as_str().unwrap_or("-"))
        })
    };
    match planted {
        Planted::Wait(cause, name) => wait(cause, name).is_some(),
        Planted::Lock(name, does) => {
            wait("lock", name).is_some_and(|wait| wait["sentence"].as_str().unwrap_or_default().contains(does))
        }
        // The number of waiting threads is a mean over time, so it may differ a little from the size of the pool.
        Planted::Threads(threads, name) => wait("worker-pool", name)
            .is_some_and(|wait| (wait["threads"].as_f64().unwrap_or_default() - threads).abs() < 0.5),
        Planted::Pool(children, name) => {
            is_named(run, &Planted::Wait("worker-pool", name)) && sentence.contains(&format!("{children} children of "))
        }
        Planted::Holder(function) => {
            let hot = list("hot").first().is_some_and(|hot| hot["function"] == *function);
            hot && sentence.contains(function)
        }
        Planted::Without(cause) => list("waits").iter().all(|wait| wait["cause"] != *cause),
        Planted::Function(parts) => list("hot").iter().any(|hot| {
            let function = hot["function"].as_str().unwrap_or_default();
            parts.iter().any(|part| function.contains(part)) && sentence.contains(function)
        }),
    }
}

/// Runs `find` against a server, and checks that the verdict names the known cause (`planted`). Skips the check if
/// other programs used CPU time during the run.
fn check(test: &str, binary: &std::path::Path, server: Option<Server>, flags: &[&str], planted: &Planted) {
    let Some(server) = server else { return };
    let others = OtherPrograms::watch();
    let own: Vec<&str> = server.flags.iter().map(String::as_str).collect();
    let budget: &[&str] = if flags.contains(&"--budget") { &[] } else { &["--budget", "16s"] };
    let args = [&["find", &server.url, "--max-connections", "64"], budget, flags, &own].concat();
    let run = json(binary, &args);
    println!("{test}: {}", verdict(&run));
    if others.stayed_away(test) {
        assert!(
            is_named(&run, planted),
            "{}\n{:#}\n{:#}",
            verdict(&run),
            run["findings"]["waits"],
            run["findings"]["hot"]
        );
    }
}

/// Defines one test per application.
macro_rules! applications {
    ($($test:ident: $server:expr, [$($flag:literal),*], $planted:expr;)+) => {$(
        #[test]
        fn $test() {
            let (_alone, binary) = alone_with_release!(stringify!($test));
            let start: fn(&str) -> Option<Server> = $server;
            check(stringify!($test), &binary, start(stringify!($test)), &[$($flag),*], &$planted);
        }
    )+};
}

use Planted::{Function, Holder, Lock, Pool, Threads, Wait, Without};

/// Beginnings of the names of functions in which OpenSSL computes a signature with a private RSA key. If the library
/// lacks the names of its inner functions, stacks show only the exported function that calls the inner functions.
const RSA: &[&str] = &["BN_mod_exp", "bn_mul", "bn_sqr", "bn_power", "rsaz_", "RSAZ_"];

applications! {
    express_with_pbkdf2: |test| servers::express(test, "hash", &[]), [], Function(&["sha512"]);
    express_with_a_connection_for_each_request: |test| servers::express_pool(test, 90), [], Without("connection-pool");
    go_that_encodes_json: |test| servers::go(test, "json"), [], Function(&["encoding/json"]);
    ruby_threads_that_compute: |test| servers::ruby(test, "threads.rb"), [], Wait("lock", "GVL");
    gunicorn_threads_that_compute: |test| servers::gunicorn(test, "/compute"), [], Holder("price_basket");
    redis_with_keys: servers::redis_keys, [], Wait("serial-cpu", "KEYS");
    redis_with_keys_behind_express: servers::express_keys, [], Wait("serial-cpu", "KEYS");
    nginx_with_gzip_at_level_9: servers::nginx_gzip, ["--header", "Accept-Encoding: gzip"], Function(&["deflate", "longest_match"]);
    haproxy_with_a_key_of_4096_bits: servers::haproxy, ["--new-connections", "--insecure"], Function(RSA);
}

/// Tests loadline's own server, in which `option` adds the cause that the verdict must name.
fn check_own(binary: &std::path::Path, option: &str, planted: &Planted) {
    let mut command = Command::new(binary);
    command.args(["serve", "http", "--model", "blocking", "--option", option]);
    let server = testkit::served(command);
    let server = Server { url: format!("http://{}/", server.addr), flags: Vec::new(), parts: vec![Box::new(server)] };
    // The server has two threads for each connection. Reading all threads takes so long that a search of 16 s has too
    // few readings to show what the holder of a lock does.
    check(option, binary, Some(server), &["--budget", "24s"], planted);
}

#[test]
fn our_server_names_its_computing_function() {
    let (_alone, binary) = alone_with_release!("a function of our own server");
    check_own(&binary, "spin=500", &Function(&["planted_spin"]));
}

/// An application that often waits for the disk.
mod light {
    use super::*;

    applications! {
        // On a fast disk, the holder of the lock spends about as much time on the CPU as in waits for the disk.
        a_server_in_c_that_flushes_under_a_lock: servers::c_fsync, [], Lock("log_lock", " in write_log ");
    }
}

/// Applications that mostly wait and use little CPU time.
mod idle {
    use super::*;

    applications! {
        flask_with_a_global_lock_behind_nginx:
            |test| servers::behind_nginx(test, servers::python(test, "flask_lock.py")), [], Wait("lock", "flask_lock.py");
        fastapi_with_a_sleep_in_its_event_loop: |test| servers::python(test, "fastapi_sleep.py"), [], Wait("blocking-call", "index");
        express_with_three_connections: |test| servers::express_pool(test, 3), [], Wait("connection-pool", "127.0.0.1");
        pgbouncer_with_three_connections: servers::pgbouncer, [], Wait("connection-pool", "127.0.0.1");
        tomcat_with_eight_threads: servers::tomcat, [], Threads(8.0, "http-nio");
        go_with_a_mutex: |test| servers::go(test, "mutex"), [], Wait("lock", "main.underLock");
        go_with_a_semaphore: |test| servers::go(test, "semaphore"), [], Wait("worker-pool", "main.withPlace");
        php_fpm_with_five_children_behind_a_unix_socket: |test| servers::php_fpm(test, "sleep.php"), [], Pool(5, "pool www");
        php_fpm_with_a_lock_on_a_file: |test| servers::php_fpm(test, "flock.php"), [], Wait("lock", "flock.php");
        gunicorn_with_three_connections_in_a_queue: |test| servers::gunicorn(test, "/"), [], Wait("worker-pool", "load_user");
        ruby_threads_with_a_mutex: |test| servers::ruby(test, "mutex.rb"), [], Wait("lock", "Mutex of Ruby");
        java_with_a_monitor: servers::java_monitor, [], Wait("lock", "Tickets.bookTicket");
        postgresql_with_a_row_lock: |test| servers::express_row(test, false), [], Wait("row-lock", "UPDATE");
        postgresql_with_a_row_lock_in_its_sessions:
            |test| servers::express_row(test, true), [], Wait("row-lock", "update counters set n = n + ?");
        puma_with_two_threads: servers::puma, [], Threads(2.0, "puma");
        axum_with_a_mutex_of_std: servers::axum, [], Wait("lock", "LOCK");
    }

    #[test]
    fn our_server_names_its_pool() {
        let (_alone, binary) = alone_with_release!("a pool of our own server");
        check_own(&binary, "pool=3", &Wait("worker-pool", "planted_pool"));
    }
}
