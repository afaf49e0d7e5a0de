# shellcheck shell=bash disable=SC2034
# The path of each part: the value of its variable; for the control plane a program in KUBEBUILDER_ASSETS; or the cache.
# tests/kit/src/part.rs has the same rule, and a test there compares the two.

# shellcheck source=setup/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

of_control_plane() {
    local name=$1 version=$2
    if [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/$name" ]; then
        echo "$KUBEBUILDER_ASSETS/$name"
    else
        echo "$cache/$name-$version/$name"
    fi
}

BURST_ENVOY=${BURST_ENVOY:-$cache/envoy-$ENVOY_VERSION/bin/envoy}
BURST_ENVOY_OLDEST=${BURST_ENVOY_OLDEST:-$cache/envoy-$ENVOY_OLDEST_VERSION/bin/envoy}
BURST_ETCD=${BURST_ETCD:-$(of_control_plane etcd "$ETCD_VERSION")}
BURST_KUBECTL=${BURST_KUBECTL:-$(of_control_plane kubectl "$KUBERNETES_VERSION")}
BURST_KUBE_APISERVER=${BURST_KUBE_APISERVER:-$(of_control_plane kube-apiserver "$KUBERNETES_VERSION")}
BURST_KUBE_CONTROLLER_MANAGER=${BURST_KUBE_CONTROLLER_MANAGER:-$(of_control_plane kube-controller-manager "$KUBERNETES_VERSION")}
BURST_PILOT_DISCOVERY=${BURST_PILOT_DISCOVERY:-$cache/istiod-$ISTIO_VERSION/pilot-discovery}
BURST_WASM_BINDGEN_TEST_RUNNER=${BURST_WASM_BINDGEN_TEST_RUNNER:-$cache/wasm-bindgen-test-runner-$WASM_BINDGEN_VERSION/bin/wasm-bindgen-test-runner}
BURST_CRANE=${BURST_CRANE:-$cache/crane-$CRANE_VERSION/crane}
BURST_ACTIONLINT=${BURST_ACTIONLINT:-$cache/actionlint-$ACTIONLINT_VERSION/actionlint}
BURST_PROMETHEUS=${BURST_PROMETHEUS:-$cache/prometheus-$PROMETHEUS_VERSION/prometheus}
BURST_PROMTOOL=${BURST_PROMTOOL:-$cache/prometheus-$PROMETHEUS_VERSION/promtool}
BURST_HELM=${BURST_HELM:-$cache/helm-$HELM_VERSION/helm}
BURST_PRE_COMMIT=${BURST_PRE_COMMIT:-$cache/pre-commit-$PRE_COMMIT_VERSION/pre-commit}
BURST_CARGO_FUZZ=${BURST_CARGO_FUZZ:-$cache/cargo-fuzz-$CARGO_FUZZ_VERSION/bin/cargo-fuzz}
BURST_CARGO_DENY=${BURST_CARGO_DENY:-$cache/cargo-deny-$CARGO_DENY_VERSION/bin/cargo-deny}
