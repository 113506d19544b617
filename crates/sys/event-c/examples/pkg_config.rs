//! Prints the pkg-config file for an installation under the prefix that is given; `make install-event` uses it.

fn main() {
    let prefix = std::env::args().nth(1).unwrap_or_else(|| "/usr/local".into());
    print!("{}", loadline_event_c::header::pkg_config(&prefix));
}
