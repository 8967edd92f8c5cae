# Everything a developer or CI runs. `make help` lists it.

CARGO ?= cargo
TOOLS := target/tools
DENY_VERSION := 0.20.2
# The example makes Cargo choose the same features of dependencies as for the lints and the tests,
# so that they are not checked twice.
DOCUMENTED := --lib --bins --example codec
# The crate beside the one that is checked keeps the C library behind both from being built again.
ALONE := $(CARGO) clippy -p nuncio-net

.DEFAULT_GOAL := help
.PHONY: help run web test test-fast services check audit bench fuzz generate dist

# What the canvas is made of, and not what its tests leave behind.
WEB := $(shell find web -name node_modules -prune -o -path web/dist -prune \
	-o -path web/screenshots -prune -o -path web/test-results -prune -o -type f -print 2>/dev/null)

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: web ## build, and start the hub on this machine, with agents to try it with
	$(CARGO) build -p nuncio
	@$(CARGO) run --quiet -p nuncio -- up --demo

web: web/dist/index.html ## build the canvas, which becomes a part of the program

web/dist/index.html: $(WEB)
	web/build
	@touch crates/nuncio/build.rs # a program that was built without it does not look for it

test: services web check ## every check and every test; installs what it needs
	$(CARGO) test --workspace --all-features
	interop/run
	web/run

test-fast: ## the unit and property tests of protocol and engine, in seconds
	$(CARGO) test -p nuncio-protocol -p nuncio-auth -p nuncio-tasks --lib --tests

services: ## install the Postgres, Redis and browser that tests start for themselves
	scripts/services

check: ## format, lints, documentation, each feature alone
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path fuzz/Cargo.toml --check
	$(CARGO) fmt --manifest-path interop/rust/Cargo.toml --check
	$(CARGO) fmt --manifest-path bench/peers/Cargo.toml --check
	$(CARGO) clippy --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --all-features --no-deps $(DOCUMENTED)
	for features in "" nuncio-protocol/grpc nuncio-protocol/signing; do \
		$(ALONE) -p nuncio-protocol --features "$$features" -- -D warnings || exit 1; done
	for features in "" nuncio-store/postgres nuncio-store/redis; do \
		$(ALONE) -p nuncio-store --features "$$features" -- -D warnings || exit 1; done
	interop/lint

audit: $(TOOLS)/bin/cargo-deny ## licences, bans and sources of all dependencies
	$(TOOLS)/bin/cargo-deny --all-features check bans licenses sources

bench: ## what everything costs, as ratios in one run; writes docs/benchmarks.md
	$(CARGO) build --release -p nuncio-bench --bins --examples
	$(CARGO) run --release -p nuncio-bench
	$(CARGO) run --release -p nuncio-bench --bin tasks
	$(CARGO) run --release -p nuncio-bench --bin hub
	$(CARGO) run --release -p nuncio-bench --bin workflow
	bench/run

fuzz: ## fuzz every reader for a minute each; needs cargo-fuzz
	for target in $$($(CARGO) fuzz list); do \
		$(CARGO) fuzz run -s none $$target -- -max_total_time=60 || exit 1; done

dist: web ## a release in dist/out: program, manual pages, completions, unit, checksums
	dist/build

generate: ## generate Rust from proto/
	$(CARGO) run --quiet -p xtask -- generate

$(TOOLS)/bin/cargo-deny:
	$(CARGO) install --quiet --locked --root $(TOOLS) cargo-deny@$(DENY_VERSION)
