# loadline: `make run` does the main job on the embedded default, `make test` checks everything, `make bench` measures
# speed against peers on this machine.

LOADLINE := target/release/loadline
OUT ?= loadline-runs/latest

PREFIX ?= /usr/local

.PHONY: run build test bench fuzz docs clean install-event

run: build
	$(LOADLINE) find --out $(OUT)

build: | cargo
	cargo build --release --locked --bin loadline

test: | cargo
	scripts/install-needs test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo build --release --locked --bin loadline
	cargo test --workspace --locked --no-fail-fast

bench: build
	scripts/install-needs bench
	cargo run --release --locked -p loadline-bench -- $(BENCH)

# Longer than the short run inside the tests; needs `cargo install cargo-fuzz` and a nightly toolchain.
fuzz:
	cd fuzz && cargo fuzz run http1_response -- -max_total_time=60 && cargo fuzz run run_json -- -max_total_time=60

# Rewrites the generated pages of docs/; a test fails while they differ from the tables in the code.
docs: build
	$(LOADLINE) list --write-docs docs

# The event API for C: both libraries, the header and the file for pkg-config.
install-event: | cargo
	cargo build --release --locked -p loadline-event-c --lib --example pkg_config
	install -d $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -m 644 crates/sys/event-c/include/loadline_event.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 target/release/libloadline_event_c.a target/release/libloadline_event_c.so $(DESTDIR)$(PREFIX)/lib/
	target/release/examples/pkg_config $(PREFIX) > $(DESTDIR)$(PREFIX)/lib/pkgconfig/loadline-event.pc

clean:
	cargo clean

.PHONY: cargo
cargo:
	@command -v cargo >/dev/null || { echo "loadline is built with Rust 1.88 or newer; install it from rustup.rs or your distribution, then run make again" >&2; exit 2; }
