SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO_TEST := cargo test --locked --quiet
CLIPPY := cargo clippy --locked --quiet

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

# Two parts are installed at a time, because linkers and downloads leave cores idle. The large parts come first. A part that
# shares packages with another comes after it, and finds them in Go's build cache.
PARTS := control-plane istiod oracle prometheus helm wasm-bindgen cargo-deny envoy wasm-target chromium wasm-fetch tools pre-commit
.PHONY: setup
setup: ## install what the tests need: Wasm target, Envoy, control plane, tools (10 to 20 minutes the first time)
	@$(MAKE) --jobs=2 --no-print-directory $(PARTS:%=setup-%)

.PHONY: $(PARTS:%=setup-%)
$(PARTS:%=setup-%): setup-%:
	@MAKEFLAGS= setup/$* $(if $(filter envoy,$*),--all)
setup-oracle: setup-control-plane
# Only one of them can use apt-get at a time.
setup-chromium: setup-wasm-target
setup-wasm-fetch: setup-istiod

.PHONY: lint
lint: ## format and clippy
	cargo fmt --all --check
	$(CLIPPY) --workspace --all-targets -- --deny warnings
	$(CLIPPY) --package burst-metrics --features header-only -- --deny warnings
	$(CLIPPY) --package burst-metrics --features test-trap -- --deny warnings
	$(CLIPPY) --package burst-lab -- --deny warnings
	@# The fuzz targets are a separate workspace. Its lock file has to match the crates of this one.
	cargo metadata --locked --manifest-path fuzz/Cargo.toml --format-version 1 > /dev/null

.PHONY: check
check: lint ## the inner loop: lint, unit and fake-host tests (seconds when warm)
	cargo xtask test --workspace --lib --bins --test filter

# The random cases are the same in each run, so that changes are comparable. SEED=7 draws others; `cargo test` without make
# draws others each time.
SEED := 1
test: export BURST_SEED := $(SEED)
test: export PROPTEST_RNG_SEED := $(SEED)

.PHONY: test
test: setup lint ## everything: lint, docs, all tests, among them Wasm in node, real Envoys, a real control plane; licences
	RUSTDOCFLAGS="--deny warnings" cargo doc --locked --quiet --workspace --no-deps
	setup/wasm-cargo test --locked --package burst-wasm-tests
	cargo xtask wasm --test
	cargo xtask image
	$(CARGO_TEST) --workspace --doc
	@# Two programs run side by side. Most tests wait for real processes, so more of them run at once than there are cores.
	eval "$$(setup/paths)" && RUST_TEST_THREADS=3 cargo xtask test --workspace
	"$$(setup/paths BURST_CARGO_DENY)" --workspace check --allow duplicate licenses bans sources
	"$$(setup/paths BURST_CARGO_DENY)" --target wasm32-unknown-unknown --exclude-dev check bans
	"$$(setup/paths BURST_ACTIONLINT)" -shellcheck= -pyflakes= .github/workflows/*.yaml

.PHONY: envoys
envoys: setup ## run the tests with a real proxy on the Envoys between the oldest and the newest; ENVOYS="1.38.2": only that one
	cargo xtask wasm --test
	@source setup/versions.env; eval "$$(setup/paths)"; \
	for version in $(or $(ENVOYS),$$ENVOYS_BETWEEN); do \
		envoy=$$(setup/envoy "$$version"); \
		echo "Envoy $$version"; \
		BURST_ENVOY=$$envoy BURST_ENVOY_OLDEST=$$envoy $(CARGO_TEST) --test envoy --test cluster --test istio; \
	done

.PHONY: picture
picture: wasm ## draw docs/page.png, the live page of make run
	@setup/envoy
	@setup/chromium
	eval "$$(setup/paths)" && BURST_PICTURE=$$PWD/docs/page.png $(CARGO_TEST) --package burst-lab --test envoy_local live_page

.PHONY: bench
bench: ## run the benchmarks: tables with medians and spreads, saved as JSON in target/bench/
	@setup/wasm-target
	@setup/envoy
	@setup/control-plane
	@setup/oracle
	@setup/h2load
	cargo xtask wasm
	cargo bench --locked --quiet --package burstctl --no-default-features --bench lint
	cargo bench --locked --quiet --package burst-policy --bench decide
	@# The filters to compare with, optimized for speed as most filters are.
	setup/wasm-cargo build --locked --quiet --release --package burst-bench-filters --examples
	@# They measure other processes, so the profile of the tests, which is already compiled, is fast enough.
	cargo bench --locked --quiet --profile dev --bench metrics-apis
	cargo bench --locked --quiet --profile dev --bench request
	cargo bench --locked --quiet --profile dev --bench api-server --bench sync --bench memory --bench bulk --bench load
	cargo bench --locked --quiet --package burst-bench-fleet --bench fleet

.PHONY: soak
soak: ## run load and random faults on a real Envoy for 10 minutes, and check the promises of the filter; SOAK=minutes
	@setup/wasm-target
	@setup/envoy
	cargo xtask wasm
	SOAK=$(or $(SOAK),10) $(CARGO_TEST) --package burst-metrics --test soak

.PHONY: fuzz
fuzz: ## run libFuzzer on every target of fuzz/ for a minute each; FUZZ=seconds, TARGET=name: only that one
	@setup/cargo-fuzz
	@fuzz=$$(setup/paths BURST_CARGO_FUZZ); target=$${CARGO_TARGET_DIR:-$$PWD/target}/fuzz; \
	for name in $(or $(TARGET),$$(ls fuzz/corpus)); do \
		mkdir -p "$$target/corpus/$$name"; \
		echo "$$name"; \
		"$$fuzz" run --sanitizer none --fuzz-dir fuzz --target-dir "$$target" "$$name" \
			"$$target/corpus/$$name" "fuzz/corpus/$$name" -- \
			-max_total_time=$(or $(FUZZ),60) -timeout=10 -print_final_stats=0 -verbosity=0; \
	done

.PHONY: wasm
wasm: ## build the filter into target/wasm/
	@setup/wasm-target
	cargo xtask wasm

.PHONY: image
image: ## build the filter as OCI images with their SBOMs into target/image/; needs neither Docker nor a network
	@setup/wasm-target
	cargo xtask image

.PHONY: pin
pin: ## fetch the inputs of a release into target/pinned.tar: the crates of Cargo.lock, crane, and the version of Rust
	@setup/wasm-target
	@setup/tools crane
	setup/pin "$${CARGO_TARGET_DIR:-target}/pinned.tar"

.PHONY: bundle
bundle: ## build the images from PINNED=target/pinned.tar without a network into target/bundle.tar, for make push
	@: $(or $(PINNED),$(error usage: make bundle PINNED=target/pinned.tar))
	setup/bundle '$(PINNED)' "$${CARGO_TARGET_DIR:-target}/bundle.tar"

.PHONY: push
push: $(if $(BUNDLE),,image) ## copy an image and its SBOM to a registry: IMAGE=registry/name:tag, FILTER=burst-metrics-header: that one
	@: $(or $(IMAGE),$(error usage: make push IMAGE=registry/name:tag))
	@$(if $(BUNDLE),,setup/tools crane)
	@setup/push-image '$(IMAGE)' '$(or $(FILTER),burst-metrics)' $(if $(BUNDLE),'$(BUNDLE)')

.PHONY: reproduce
reproduce: image ## build the images again from a copy of the checkout in another folder, and compare them
	@copy=$$(mktemp --directory); trap 'rm -rf "$$copy"' EXIT; \
	git ls-files -z | tar --create --null --files-from=- | tar --extract --directory "$$copy"; \
	(cd "$$copy" && CARGO_TARGET_DIR=$$copy/target cargo xtask image); \
	diff --recursive "$${CARGO_TARGET_DIR:-target}/image" "$$copy/target/image" && echo "all files are identical"

# In a terminal, cargo shows its progress, because the first run takes minutes. In a pipe it is quiet, as in the other recipes.
QUIET = $(shell [ -t 2 ] || echo --quiet)

# The variables of a makefile win over those of the environment, where PORT is common.
PORT = 8080
API_PORT = 8001
RUN_CONFIG = envoy-local/$(if $(CONTEXT),context,envoy).yaml
BURST_LAB = cargo run $(QUIET) --package burst-lab $(if $(CONTEXT),--features context) -- run \
	--envoy "$$(setup/paths BURST_ENVOY)" --config $(RUN_CONFIG) --modules "$$wasm" --envoy-log "$$wasm/envoy.log" \
	--proxy '127.0.0.1:$(PORT)' --api '127.0.0.1:$(API_PORT)'

.PHONY: run
run: ## run a real Envoy on PORT=8080 before the sample cluster on API_PORT=8001, with a live table; CONTEXT=name: your cluster
	@$(MAKE) --no-print-directory run-parts
	@wasm=$${CARGO_TARGET_DIR:-target}/wasm; $(BURST_LAB) $(if $(CONTEXT),--context '$(CONTEXT)')

.PHONY: recording
recording: ## record the table of `make run` for 70 seconds as docs/demo.svg
	@$(MAKE) --no-print-directory run-parts
	@wasm=$${CARGO_TARGET_DIR:-target}/wasm; $(BURST_LAB) --record docs/demo.svg

.PHONY: run-parts
run-parts:
	@echo "1 of 3: the filter as Wasm; the first time this takes some minutes" >&2
	@setup/wasm-target
	@cargo run $(QUIET) --package xtask -- wasm
	@echo "2 of 3: Envoy" >&2
	@setup/envoy
	@echo "3 of 3: the simulated cluster and its table; the first time this takes a minute or two" >&2

# A gateway beside the one that serves: a filter that cannot be fetched does no harm there.
SET = own-gateway

.PHONY: deploy
deploy: ## install a set of istio/ after showing the changes: IMAGE=registry/name:tag DIGEST=sha256:… SET=name CONTEXT=name
	@setup/deploy apply '$(SET)' '$(CONTEXT)' '$(IMAGE)' '$(DIGEST)'

.PHONY: undeploy
undeploy: ## remove a set of istio/: SET=name CONTEXT=name
	@setup/deploy delete '$(SET)' '$(CONTEXT)'

.PHONY: advisories
advisories: ## check the dependencies for known vulnerabilities; needs a network that reaches the advisory database
	@setup/cargo-deny
	@deny=$$(setup/paths BURST_CARGO_DENY); "$$deny" fetch db || { \
		echo "advisories: cannot fetch the database, so nothing was checked" >&2; exit 1; }
	"$$(setup/paths BURST_CARGO_DENY)" --workspace check advisories

.PHONY: update
update: ## update the dependencies as far as Cargo.toml allows; test them with make test
	cargo update
	cargo update --manifest-path fuzz/Cargo.toml
	@# The runner of the wasm32 tests has to have the same version.
	version=$$(sed -n '/^name = "wasm-bindgen"$$/{n;s/^version = "\(.*\)"$$/\1/p}' Cargo.lock); \
	sed -i "s/^WASM_BINDGEN_VERSION=.*/WASM_BINDGEN_VERSION=$$version/" setup/versions.env; \
	sed -i "s/^\(wasm-bindgen-cli = .*\"=\)[0-9.]*/\1$$version/" setup/wasm-bindgen-runner/Cargo.toml
	cargo update --manifest-path setup/wasm-bindgen-runner/Cargo.toml

.PHONY: fmt
fmt: ## format
	cargo fmt --all

.PHONY: clean
clean: ## remove the build output; the parts in the cache remain
	cargo clean
