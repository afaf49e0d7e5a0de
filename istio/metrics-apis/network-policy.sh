#!/bin/sh
# Admits the API servers in the NetworkPolicy of the metrics APIs. It takes their addresses from the endpoints of the
# Service `kubernetes`. copy-ca.yaml runs it every ten minutes; run it yourself once after `kubectl apply`.
set -eu

namespace=${NAMESPACE:-istio-system}
addresses=$(kubectl get endpointslices --namespace default --selector kubernetes.io/service-name=kubernetes \
    --output 'jsonpath={range .items[*].endpoints[*]}{.addresses[0]}{"\n"}{end}')
[ -n "$addresses" ] || {
    echo "the Service kubernetes has no endpoints: write the API servers' addresses into network-policy.yaml" >&2
    exit 1
}
konnectivity='{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"kube-system"}},
    "podSelector":{"matchLabels":{"k8s-app":"konnectivity-agent"}}}'
from=$konnectivity
for address in $addresses; do
    case $address in
    *:*) block=$address/128 ;;
    *) block=$address/32 ;;
    esac
    from="$from,{\"ipBlock\":{\"cidr\":\"$block\"}}"
done
kubectl patch networkpolicy burst-metrics-apis --namespace "$namespace" --type=json \
    --patch "[{\"op\":\"replace\",\"path\":\"/spec/ingress/0/from\",\"value\":[$from]}]"
