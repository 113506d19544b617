# loadline: `make run` does the main job on the embedded default, `make test` checks a change in minutes, `make verify`
# checks everything, `make bench` measures speed against peers on this machine.

LOADLINE := target/release/loadline
# Where `make run` keeps its run; without it, in loadline-runs/ by time, to which loadline-runs/latest leads.
OUT ?=

PREFIX ?= /usr/local

# When make began, so that the last lines say how long all of it took.
STARTED_S := $(shell date +%s)

FUZZ_S ?= 60
SOAK_S ?= 3600

.PHONY: run build dist release release-arm64 test build-tests verify cases lint bench bench-all speed-page fuzz soak docs clean install install-event deb

run: | cargo
	@echo "make run: builds loadline (2 to 3 minutes on 2 CPUs the first time, then seconds), starts its own test server,"
	@echo "measures that server for 30 s, and prints its capacity and bottleneck. Nothing outside this folder is changed."
	@$(MAKE) --no-print-directory build
	$(LOADLINE) find $(if $(OUT),--out $(OUT))

build: | cargo
	cargo build --release --locked --bin loadline

# A static program in target/dist: it runs on any Linux of this processor, in an empty container, too. Only the last crate is told so:
# what is run while building cannot be static, and the others are the same either way. The last crate only calls the one before it
# (crates/cli/src/lib.rs), so it is linked again in seconds. The program itself is put back after it.
dist: | cargo
	cargo rustc --release --locked --package loadline --bin loadline -- -C target-feature=+crt-static
	mkdir -p target/dist && cp $(LOADLINE) target/dist/loadline && strip target/dist/loadline
	cargo build --release --locked --bin loadline

# Test targets of other crates that need longer: they are run by `make verify`.
LONG_TESTS := line,media,pressure,speed
comma := ,

# The files of a release, in target/release-files: the static program in an archive, a Debian package and a container image, and
# checksums. Unlike `dist`, it is built with full optimization and linked as one (profile release-full).
release: | cargo
	cargo rustc --profile release-full --locked --package loadline --bin loadline -- -C target-feature=+crt-static
	rm -rf target/release-files
	FROM=target/release-full scripts/release target/release-files

# The same files for aarch64, by a cross build, beside those of `release`. It needs Debian's packages gcc-aarch64-linux-gnu and
# qemu-user-static, and `rustup target add aarch64-unknown-linux-gnu`.
release-arm64: | cargo
	CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
	  cargo rustc --profile release-full --target aarch64-unknown-linux-gnu --locked --package loadline --bin loadline \
	  -- -C target-feature=+crt-static
	FROM=target/aarch64-unknown-linux-gnu/release-full scripts/release target/release-files

# Formatting, lints, unit and simulated tests, and one live test for each main path: minutes. The program and the tests are built at
# the same time: cargo builds them in different folders, and neither of the two keeps all CPUs busy until its end.
test: lint
	$(MAKE) --no-print-directory -j2 dist build-tests
	target/debug/run-tests --since $(STARTED_S) --skip $(LONG_TESTS) target/tests.json paths

build-tests: | cargo
	mkdir -p target
	cargo test --workspace --locked --no-run --message-format=json-render-diagnostics >target/tests.json

# Everything else, live: tests that measure run one at a time, all others side by side. So do those that measure, but whose checks
# hold while a few others of them run; they run after those that do not measure. Run it before you call a change done.
verify: test
	scripts/install-needs verify
	cargo test --workspace --locked --no-run --message-format=json-render-diagnostics --features loadline/verify \
	  --test verify --test alone $(addprefix --test ,$(subst $(comma), ,$(LONG_TESTS))) >target/verify.json
	cargo test --locked --doc -p loadline-event -p loadline-testbed
	target/debug/run-tests --since $(STARTED_S) --skip none target/verify.json --light media,speed,line alone

# Runs the program on a folder of small inputs and servers: `make cases DIR=FOLDER` (scripts/check-cases says what a case is).
cases: build
	@test -n "$(DIR)" || { echo "name the folder of the cases: make cases DIR=FOLDER" >&2; exit 2; }
	scripts/check-cases $(DIR) $(LOADLINE)

lint: | cargo
	scripts/install-needs test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --features loadline/verify --locked -- -D warnings

# Measures the default set of rows, which is planned for 20 minutes after the build. BENCH has words of the names of rows, or options:
# `make bench BENCH="--save docs/speed/run.json"` keeps the result. Containers hold the static program, the rest is of the release
# build, which `dist` makes, too.
bench: dist
	scripts/install-needs bench
	cargo run --release --locked -p loadline-bench -- $(BENCH)

# Measures all rows, which takes about three hours.
bench-all: dist
	scripts/install-needs bench
	cargo run --release --locked -p loadline-bench -- --all $(BENCH)

# Writes the tables of a kept result into the page about speed; a test fails while they differ.
speed-page: | cargo
	cargo run --release --locked -p loadline-bench -- --write-page docs/speed/run.json docs/explanation/speed.md

# Longer than the short run inside the tests: FUZZ_S seconds a parser; needs `cargo install cargo-fuzz`.
fuzz:
	scripts/fuzz $(FUZZ_S)

# A planted leak over a minute, then random faults in random order against nginx for SOAK_S seconds, with a table at the end.
soak: build
	cargo test --locked -p loadline --test drifts -- --ignored --nocapture
	scripts/soak $(SOAK_S) --binary $(LOADLINE)

# Rewrites the schema of run.json and the generated pages of docs/; a test fails while they differ from the tables in the code.
docs: | cargo
	LOADLINE_WRITE_SCHEMA=1 cargo test --locked -p loadline-run --lib schema
	LOADLINE_WRITE_MATRIX=1 LOADLINE_WRITE_THRESHOLDS=1 LOADLINE_WRITE_CALIBRATION=1 \
	  cargo test --locked -p loadline-judge --lib -- matrix thresholds calibration
	LOADLINE_WRITE_WORDS=1 cargo test --locked -p loadline --lib words
	$(MAKE) build
	$(LOADLINE) list --write-docs docs

# The program with man pages and completions for bash, zsh and fish, below PREFIX.
install: build
	PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) scripts/install program

# The event API for C: both libraries, the header and the file for pkg-config.
install-event: | cargo
	cargo build --release --locked -p loadline-event-c --lib
	PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) scripts/install event

# A Debian package of what `install` installs, by dpkg-deb: every Debian has it, while cargo-deb would first be compiled
# for minutes and would need a second list of the same files.
deb: build
	scripts/deb target/debian

clean:
	cargo clean

.PHONY: cargo
cargo:
	@command -v cargo >/dev/null || { printf '%s\n' "loadline is built with Rust 1.88 or newer. This command installs it for your user:" \
	  "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . ~/.cargo/env" >&2; exit 2; }
