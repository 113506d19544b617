//! Sets the SONAME of the shared library. The SONAME contains the major version, so programs never load a later,
//! incompatible library. `scripts/install` creates the symbolic links that belong to this SONAME.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libloadline_event_c.so.{}", env!("CARGO_PKG_VERSION_MAJOR"));
    println!("cargo::rerun-if-changed=build.rs");
}
