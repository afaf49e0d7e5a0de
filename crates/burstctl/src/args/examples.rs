//! The examples under `--help`.

pub(super) const BURSTCTL: &str = "\
Examples:
  burstctl preview --namespace shop
  burstctl doctor
  burstctl hpa lint manifests/
  burstctl hpa explain --namespace shop web";

pub(super) const HPA: &str = "\
Examples:
  burstctl hpa lint manifests/
  burstctl hpa render short.yaml | kubectl apply -f -
  burstctl hpa simulate hpa.yaml --load spike:10x";

pub(super) const COMPLETION: &str = "\
Examples:
  source <(burstctl completion bash)
  burstctl completion zsh > \"${fpath[1]}/_burstctl\"
  burstctl completion fish > ~/.config/fish/completions/burstctl.fish";

pub(super) const VERSION: &str = "\
Examples:
  burstctl version --output json";

pub(super) const MAN: &str = "\
Examples:
  burstctl man ~/.local/share/man/man1";

pub(super) const POLICY: &str = "\
Examples:
  burstctl policy test policies.yaml --hpa hpas/
  burstctl policy admission policies/ | kubectl apply -f -";

pub(super) const LINT: &str = "\
Examples:
  burstctl hpa lint manifests/
  burstctl hpa lint --all-namespaces
  helm template chart/ | burstctl hpa lint -
  kustomize build . | burstctl hpa lint --output sarif -";

pub(super) const RENDER: &str = "\
Examples:
  burstctl hpa render short.yaml | kubectl apply -f -
  burstctl hpa render --defaults hpa.yaml";

pub(super) const MIGRATE: &str = "\
Examples:
  burstctl hpa migrate old.yaml > new.yaml";

pub(super) const EXPLAIN: &str = "\
Examples:
  burstctl hpa explain hpa.yaml
  kubectl get hpa web -o yaml | burstctl hpa explain --status -
  burstctl hpa explain --namespace shop web";

pub(super) const SIMULATE: &str = "\
Examples:
  burstctl hpa simulate hpa.yaml --load spike:10x --output plot
  burstctl hpa simulate hpa.yaml --load ramp:from=100rps,500rps --pod-capacity 20rps
  burstctl hpa simulate hpa.yaml --trace load.csv --output svg > load.svg";

pub(super) const ISTIO_RENDER: &str = "\
Examples:
  burstctl istio render --values values.yaml | kubectl apply -f -
  burstctl istio render --schema";

pub(super) const POLICY_TEST: &str = "\
Examples:
  burstctl policy test policies.yaml --hpa hpas/
  burstctl policy test policies/ --hpa hpa.yaml --root-namespace istio-system";

pub(super) const POLICY_ADMISSION: &str = "\
Examples:
  burstctl policy admission policies/ | kubectl apply -f -";

#[cfg(feature = "live")]
pub(super) const POLICY_CHECK: &str = "\
Examples:
  burstctl policy check
  burstctl policy check --root-namespace istio-system --write-status";

#[cfg(feature = "live")]
pub(super) const PROXY: &str = "\
Examples:
  burstctl proxy --context staging
  burstctl proxy --config plugin.yaml --listen 127.0.0.1:0";

#[cfg(feature = "live")]
pub(super) const PREVIEW: &str = "\
Examples:
  burstctl preview
  burstctl preview --namespace shop --output json";

#[cfg(feature = "live")]
pub(super) const DOCTOR: &str = "\
Examples:
  burstctl doctor
  burstctl doctor --namespace shop --selector app=gateway
  burstctl doctor --admin http://127.0.0.1:9901";
