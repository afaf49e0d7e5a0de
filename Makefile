SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO_TEST := cargo test --locked --quiet
CLIPPY := cargo clippy --locked --quiet

.PHONY: help
help: ## list the recipes
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

.PHONY: setup
setup: ## install what the tests need: Wasm target, Envoy, control plane, tools (the first time 25 minutes, then seconds)
	@setup/wasm-target
	@setup/envoy --all
	@setup/wasm-bindgen
	@setup/cargo-deny
	@setup/control-plane
	@setup/istiod
	@setup/oracle

.PHONY: check
check: ## the inner loop: format, clippy, unit and fake-host tests (seconds when warm)
	cargo fmt --all --check
	$(CLIPPY) --workspace --all-targets -- --deny warnings
	$(CLIPPY) --package burst-metrics --features header-only -- --deny warnings
	$(CLIPPY) --package burst-metrics --features test-trap -- --deny warnings
	$(CLIPPY) --package burst-lab -- --deny warnings
	$(CARGO_TEST) --workspace --lib --bins
	$(CARGO_TEST) --package burst-metrics --test filter

.PHONY: test
test: setup check ## everything: check, docs, Wasm tests in node, real Envoy, real control plane, licences
	RUSTDOCFLAGS="--deny warnings" cargo doc --locked --quiet --workspace --no-deps
	setup/wasm-cargo test --locked --package burst-wasm-tests
	cargo xtask wasm --test
	eval "$$(setup/paths)" && cargo test --locked --workspace
	"$$(setup/paths BURST_CARGO_DENY)" --workspace check --allow duplicate licenses bans sources
	"$$(setup/paths BURST_CARGO_DENY)" --target wasm32-unknown-unknown --exclude-dev check bans

.PHONY: wasm
wasm: ## build the filter into target/wasm/
	@setup/wasm-target
	cargo xtask wasm

.PHONY: run
run: wasm ## the sample cluster behind a real Envoy on port 8080, with a live table; CONTEXT=name: a cluster of yours
	@setup/envoy
	cargo run --quiet --package burst-lab $(if $(CONTEXT),--features context) -- \
		run --envoy "$$(setup/paths BURST_ENVOY)" $(if $(CONTEXT),--context "$(CONTEXT)")

.PHONY: deploy
deploy: ## put the default set of istio/ on the cluster of kubectl's current context: IMAGE=registry/name:tag DIGEST=sha256:…
	@set=$$(kubectl kustomize istio | \
		sed -e 's|registry.example.com/burst-metrics:0.1.0|$(or $(IMAGE),&)|' -e 's|0\{64\}|$(or $(DIGEST:sha256:%=%),&)|'); \
	if grep -qE 'registry.example.com/|0{64}' <<<"$$set"; then \
		echo "say where the image is: make deploy IMAGE=registry/name:tag DIGEST=sha256:…" >&2; exit 1; \
	fi; \
	echo "applying istio/ to $$(kubectl config current-context)"; \
	kubectl apply --filename - <<<"$$set"

.PHONY: fmt
fmt: ## format
	cargo fmt --all

.PHONY: clean
clean: ## remove what was built here; the parts in the cache stay
	cargo clean
