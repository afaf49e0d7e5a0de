#!/bin/sh
# Creates the certificate of the listener, valid for a year, with an authority of its own, and writes the authority into the
# APIServices. Run it again to renew both. cert-manager can do the same: create a Certificate with that Secret and that name,
# and set the annotation cert-manager.io/inject-ca-from on the APIServices.
set -eu

namespace=${NAMESPACE:-istio-system}
service=burst-metrics-apis
name=$service.$namespace.svc

# On a line of its own: otherwise the shell would continue after a failure, in the folder of its caller.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# On a signal, sh does not run the trap above unless the script exits.
trap 'exit 130' INT TERM HUP
cd "$folder"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -subj "/CN=$service-ca" -keyout ca.key -out ca.crt 2>openssl.log || { cat openssl.log >&2; exit 1; }
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -CA ca.crt -CAkey ca.key \
    -subj "/CN=$name" -addext "subjectAltName=DNS:$name" -addext basicConstraints=critical,CA:false \
    -keyout tls.key -out tls.crt 2>openssl.log || { cat openssl.log >&2; exit 1; }

# Another server may have one of the groups.
apis=$(kubectl get apiservices --output \
    "jsonpath={range .items[?(@.spec.service.name==\"$service\")]}{.metadata.name}{\"\\n\"}{end}")
[ -n "$apis" ] || {
    echo "no APIService names the Service $service: apply the set or install the chart first" >&2
    exit 1
}

# The authority comes first, so that the API server trusts the certificate at any time.
patch="{\"spec\":{\"caBundle\":\"$(base64 <ca.crt | tr -d '\n')\"}}"
for api in $apis; do
    kubectl patch apiservice "$api" --type=merge --patch "$patch"
done
kubectl create secret tls "$service" --cert=tls.crt --key=tls.key --dry-run=client --output=yaml |
    kubectl apply --server-side --force-conflicts --namespace "$namespace" --filename -
