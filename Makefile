SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO_TEST := cargo test --locked --quiet
CLIPPY := cargo clippy --locked --quiet

.PHONY: help
help: ## list the recipes
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

# Two at a time, because a linker or a download leaves a core idle. The large ones come first. What shares packages with
# another part comes after it, and finds them in Go's build cache.
PARTS := control-plane istiod oracle wasm-bindgen cargo-deny envoy wasm-target wasm-fetch tools
.PHONY: setup
setup: ## install what the tests need: Wasm target, Envoy, control plane, tools (20 minutes the first time, then seconds)
	@$(MAKE) --jobs=2 --no-print-directory $(PARTS:%=setup-%)

.PHONY: $(PARTS:%=setup-%)
$(PARTS:%=setup-%): setup-%:
	@MAKEFLAGS= setup/$* $(if $(filter envoy,$*),--all)
setup-oracle: setup-control-plane
setup-wasm-fetch: setup-istiod

.PHONY: check
check: ## the inner loop: format, clippy, unit and fake-host tests (seconds when warm)
	cargo fmt --all --check
	$(CLIPPY) --workspace --all-targets -- --deny warnings
	$(CLIPPY) --package burst-metrics --features header-only -- --deny warnings
	$(CLIPPY) --package burst-metrics --features test-trap -- --deny warnings
	$(CLIPPY) --package burst-lab -- --deny warnings
	@# The fuzz targets are a workspace of their own, whose lock has to go along with this one's crates.
	cargo metadata --locked --manifest-path fuzz/Cargo.toml --format-version 1 > /dev/null
	$(CARGO_TEST) --workspace --lib --bins
	$(CARGO_TEST) --package burst-metrics --test filter

# Each change meets the cases that the one before it met. Others: SEED=7, and another each time with `cargo test` alone.
SEED := 1
test: export BURST_SEED := $(SEED)
test: export PROPTEST_RNG_SEED := $(SEED)

.PHONY: test
test: setup check ## everything: check, docs, Wasm tests in node, real Envoy, real control plane, licences
	RUSTDOCFLAGS="--deny warnings" cargo doc --locked --quiet --workspace --no-deps
	setup/wasm-cargo test --locked --package burst-wasm-tests
	cargo xtask wasm --test
	cargo xtask image
	@# Most tests wait for real processes; so more of them at once than there are cores.
	eval "$$(setup/paths)" && RUST_TEST_THREADS=6 cargo test --locked --workspace
	"$$(setup/paths BURST_CARGO_DENY)" --workspace check --allow duplicate licenses bans sources
	"$$(setup/paths BURST_CARGO_DENY)" --target wasm32-unknown-unknown --exclude-dev check bans
	"$$(setup/paths BURST_ACTIONLINT)" -shellcheck= -pyflakes= .github/workflows/*.yaml

.PHONY: envoys
envoys: setup ## the real-proxy tests on the Envoys between the oldest and the newest: ENVOYS="1.38.2" for that one alone
	cargo xtask wasm --test
	@source setup/versions.env; eval "$$(setup/paths)"; \
	for version in $(or $(ENVOYS),$$ENVOYS_BETWEEN); do \
		envoy=$$(setup/envoy "$$version"); \
		echo "Envoy $$version"; \
		BURST_ENVOY=$$envoy BURST_ENVOY_OLDEST=$$envoy $(CARGO_TEST) --test envoy --test cluster --test istio; \
	done

.PHONY: bench
bench: ## measure: tables with medians and spreads, kept as JSON in target/bench/
	@setup/wasm-target
	@setup/envoy
	@setup/control-plane
	@setup/oracle
	@setup/h2load
	cargo xtask wasm
	cargo bench --locked --quiet --package burstctl --no-default-features --bench lint
	cargo bench --locked --quiet --package burst-policy --bench decide
	@# The filters that ours stands beside; made for speed, as others make theirs.
	setup/wasm-cargo build --locked --quiet --release --package burst-bench-filters --examples
	@# What it measures are other processes; so the profile of the tests, which is there already.
	cargo bench --locked --quiet --profile dev --bench metrics-apis
	cargo bench --locked --quiet --profile dev --bench request
	cargo bench --locked --quiet --profile dev --bench api-server --bench sync --bench memory --bench bulk --bench load
	cargo bench --locked --quiet --package burst-bench-fleet --bench fleet

.PHONY: soak
soak: ## load and random faults on a real Envoy for 10 minutes: what the filter promises, as a table; SOAK=minutes
	@setup/wasm-target
	@setup/envoy
	cargo xtask wasm
	SOAK=$(or $(SOAK),10) $(CARGO_TEST) --package burst-metrics --test soak

.PHONY: fuzz
fuzz: ## libFuzzer on every target of fuzz/ for a minute each: FUZZ=seconds, TARGET=name for that one alone
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
image: ## build the filter as OCI images, with their SBOM, into target/image/; neither Docker nor a network is needed
	@setup/wasm-target
	cargo xtask image

.PHONY: pin
pin: ## fetch what a release is built with into target/pinned.tar: the crates of Cargo.lock, crane, and the version of Rust
	@setup/wasm-target
	@setup/tools crane
	setup/pin "$${CARGO_TARGET_DIR:-target}/pinned.tar"

.PHONY: bundle
bundle: ## build the images from PINNED=target/pinned.tar without a network into target/bundle.tar, which make push takes
	@: $(or $(PINNED),$(error say what to build with: make bundle PINNED=target/pinned.tar))
	setup/bundle '$(PINNED)' "$${CARGO_TARGET_DIR:-target}/bundle.tar"

.PHONY: push
push: $(if $(BUNDLE),,image) ## copy an image and its SBOM to a registry: IMAGE=registry/name:tag, FILTER=burst-metrics-header for that one
	@: $(or $(IMAGE),$(error say where to: make push IMAGE=registry/name:tag))
	@$(if $(BUNDLE),,setup/tools crane)
	@setup/push-image '$(IMAGE)' '$(or $(FILTER),burst-metrics)' $(if $(BUNDLE),'$(BUNDLE)')

.PHONY: reproduce
reproduce: image ## build the images again from a copy of the checkout in another folder, and compare
	@copy=$$(mktemp --directory); trap 'rm -rf "$$copy"' EXIT; \
	git ls-files -z | tar --create --null --files-from=- | tar --extract --directory "$$copy"; \
	(cd "$$copy" && CARGO_TARGET_DIR=$$copy/target cargo xtask image); \
	diff --recursive "$${CARGO_TARGET_DIR:-target}/image" "$$copy/target/image" && echo "the same, file for file"

RUN_CONFIG = $(if $(CONTEXT),context,envoy).yaml

.PHONY: run
run: wasm ## the sample cluster behind a real Envoy on port 8080, with a live table; CONTEXT=name: a cluster of yours
	@setup/envoy
	@# The configuration names the module where Cargo puts it, unless it was told otherwise.
	@wasm=$${CARGO_TARGET_DIR:-target}/wasm; \
	sed "s|target/wasm/|$$wasm/|" envoy-local/$(RUN_CONFIG) >"$$wasm/$(RUN_CONFIG)"; \
	cargo run --quiet --package burst-lab $(if $(CONTEXT),--features context) -- \
		run --envoy "$$(setup/paths BURST_ENVOY)" --config "$$wasm/$(RUN_CONFIG)" $(if $(CONTEXT),--context "$(CONTEXT)")

.PHONY: deploy
deploy: ## put the default set of istio/ on the cluster of kubectl's current context: IMAGE=registry/name:tag DIGEST=sha256:…
	@set=$$(kubectl kustomize istio | \
		sed -e 's|registry.example.com/burst-metrics:0.1.0|$(or $(IMAGE),&)|' -e 's|0\{64\}|$(or $(DIGEST:sha256:%=%),&)|'); \
	if grep -qE 'registry.example.com/|0{64}' <<<"$$set"; then \
		echo "say where the image is: make deploy IMAGE=registry/name:tag DIGEST=sha256:…" >&2; exit 1; \
	fi; \
	if ! grep -qE '^(sha256:)?[0-9a-f]{64}$$' <<<'$(DIGEST)'; then \
		echo "DIGEST=$(DIGEST) is not sha256: with 64 hexadecimal digits: take what make push printed" >&2; exit 1; \
	fi; \
	echo "applying istio/ to $$(kubectl config current-context)"; \
	kubectl apply --filename - <<<"$$set"

.PHONY: advisories
advisories: ## look for known vulnerabilities of the dependencies; needs a network that reaches the advisory database
	@setup/cargo-deny
	@deny=$$(setup/paths BURST_CARGO_DENY); "$$deny" fetch db || { \
		echo "advisories: the database cannot be fetched, so nothing was checked: run it where it can be reached" >&2; exit 1; }
	"$$(setup/paths BURST_CARGO_DENY)" --workspace check advisories

.PHONY: update
update: ## take the newest dependencies that Cargo.toml allows; try them with make test
	cargo update
	cargo update --manifest-path fuzz/Cargo.toml
	@# The runner of the wasm32 tests has to be of the same version.
	version=$$(sed -n '/^name = "wasm-bindgen"$$/{n;s/^version = "\(.*\)"$$/\1/p}' Cargo.lock); \
	sed -i "s/^WASM_BINDGEN_VERSION=.*/WASM_BINDGEN_VERSION=$$version/" setup/versions.env; \
	sed -i "s/^\(wasm-bindgen-cli = .*\"=\)[0-9.]*/\1$$version/" setup/wasm-bindgen-runner/Cargo.toml
	cargo update --manifest-path setup/wasm-bindgen-runner/Cargo.toml

.PHONY: fmt
fmt: ## format
	cargo fmt --all

.PHONY: clean
clean: ## remove what was built here; the parts in the cache stay
	cargo clean
