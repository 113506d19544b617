//! Tests of the program under load that may run at the same time as other tests. `make verify` runs these tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arena;
mod arena_example;
#[path = "../shared/arena_file.rs"]
mod arena_file;
mod busy_machine;
mod caches;
mod cases;
mod chaos;
mod ci_action;
mod compare;
#[path = "../shared/compare_command.rs"]
mod compare_command;
mod cut_short;
mod databases;
mod disk_waits;
mod drifts;
mod event_api;
mod faults;
mod floods;
mod go_peers;
mod greeting_peers;
mod grpc;
mod grpc_types;
mod har;
mod held_connections;
mod hosts;
mod http2_peers;
mod http3_peers;
mod interrupts;
mod io_models;
mod killed_levers;
mod large_runs;
mod light;
mod live_view;
mod mariadb;
mod memcached;
mod mixes;
mod open_telemetry;
mod package;
mod pages;
mod progress;
mod redis_cluster;
mod repeats;
mod replays;
mod row_app;
mod s_clients;
mod s_clients_faults;
mod secrets;
mod sequences;
mod served_clients;
mod targets;
#[path = "../shared/testbed_command.rs"]
mod testbed_command;
mod testbed_keeper;
mod tls_peers;
mod tls_refusals;
mod unix;
mod users;
mod watches;
mod ways;
mod websocket;
#[path = "../shared/whole_find.rs"]
mod whole_find;
