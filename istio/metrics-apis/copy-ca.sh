#!/bin/sh
# Copies the request-header CA from the ConfigMap of the API server to the Secret of the gateway. If it changes, istiod updates
# the proxies without a restart. copy-ca.yaml runs this script; run it yourself to copy the CA at once.
set -eu

namespace=${NAMESPACE:-istio-system}
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
