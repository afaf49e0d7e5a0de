#!/bin/sh
# Makes the certificate of the listener, good for a year, with an authority of its own, and tells the API server of it.
# Run it again to renew both. cert-manager can do the same: a Certificate of that Secret and that name, and the
# annotation cert-manager.io/inject-ca-from on the APIServices.
set -eu

namespace=istio-system
service=burst-metrics-apis
name=$service.$namespace.svc

# On a line of its own, or the shell would go on without a folder, in that of its caller.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# sh runs the line above only where the script comes to an end by itself.
trap 'exit 130' INT TERM HUP
cd "$folder"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -subj "/CN=$service-ca" -keyout ca.key -out ca.crt 2>openssl.log || { cat openssl.log >&2; exit 1; }
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -CA ca.crt -CAkey ca.key \
    -subj "/CN=$name" -addext "subjectAltName=DNS:$name" -addext basicConstraints=critical,CA:false \
    -keyout tls.key -out tls.crt 2>openssl.log || { cat openssl.log >&2; exit 1; }

# First the authority, so that there is no certificate that the API server does not believe.
patch="{\"spec\":{\"caBundle\":\"$(base64 <ca.crt | tr -d '\n')\"}}"
for api in v1beta1.custom v1beta2.custom v1beta1.external; do
    kubectl patch apiservice "$api.metrics.k8s.io" --type=merge --patch "$patch"
done
kubectl create secret tls "$service" --cert=tls.crt --key=tls.key --dry-run=client --output=yaml |
    kubectl apply --server-side --force-conflicts --namespace "$namespace" --filename -
