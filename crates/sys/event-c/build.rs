//! Names the shared library for the programs that use it: its SONAME holds the major version, so that a later library
//! that breaks the interface is not loaded in its place. `scripts/install` makes the links that go with it.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libloadline_event_c.so.{}", env!("CARGO_PKG_VERSION_MAJOR"));
    println!("cargo::rerun-if-changed=build.rs");
}
