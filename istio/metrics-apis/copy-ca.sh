#!/bin/sh
# Copies the request-header CA, which the API server publishes, to where the gateway takes it from. After it has changed
# istiod tells the proxies, without a restart. Run by copy-ca.yaml, and by hand whenever it shall be at once.
set -eu

namespace=istio-system
secret=burst-metrics-apis-cacert

ca=$(kubectl get configmap extension-apiserver-authentication --namespace kube-system \
    --output 'jsonpath={.data.requestheader-client-ca-file}')
[ -n "$ca" ] || {
    echo "the API server has no request-header CA: give it --requestheader-client-ca-file" >&2
    exit 1
}
printf '%s\n' "$ca" |
    kubectl create secret generic "$secret" --from-file=ca.crt=/dev/stdin --dry-run=client --output=yaml |
    kubectl apply --server-side --force-conflicts --namespace "$namespace" --filename -
