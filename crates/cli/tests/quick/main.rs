//! Tests of the program as a user sees it. These tests need no long load, so each of them takes only a second or two.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arena_files;
mod compare_kept;
mod exhausted;
mod first_answer;
mod greetings;
mod groups;
mod grpc_types;
mod history;
mod http2;
mod http3;
mod json_lines;
mod kept;
mod make_run;
mod messages;
mod odd_servers;
mod old_runs;
mod redis;
mod repeats;
mod reroute;
mod simulated;
mod spans;
mod streams;
mod tls;
mod traceparent;
mod wrong_servers;
