{{/* Refuses values that cannot work, each with a sentence that says what to set. values.schema.json checks keys and types. */}}
{{- define "burst.check" -}}
{{- $target := .Values.target -}}
{{- with .Values.image -}}
{{- if and .repository .url -}}
{{- fail "image.repository and image.url are both set: set one of them" -}}
{{- else if not (or .repository .url) -}}
{{- fail "image.repository is not set: set image.repository and image.digest to what `make push` printed" -}}
{{- else if not (or .digest (hasPrefix "file://" .url)) -}}
{{- fail "image.digest is not set: set it to the digest that `make push` printed, sha256:…; for an image.url of http(s), to that of the file" -}}
{{- else if and (or .pullSecret .pullPolicy) (eq $.Values.form "EnvoyFilter") -}}
{{- fail "image.pullSecret and image.pullPolicy do not work with form EnvoyFilter: set form to WasmPlugin or TrafficExtension, or remove them" -}}
{{- end -}}
{{- end -}}
{{- if eq $target "gateway" -}}
{{- with .Values.gateway -}}
{{- if and .labels .gatewayName -}}
{{- fail "gateway.labels and gateway.gatewayName are both set: set gatewayName if the Gateway API manages the gateway, else labels" -}}
{{- else if not (or .labels .gatewayName) -}}
{{- fail "gateway.labels is not set: set it to labels of your gateway's pods, such as {istio: ingressgateway}; or set gateway.gatewayName if the Gateway API manages the gateway" -}}
{{- else if not .serviceAccounts -}}
{{- fail "gateway.serviceAccounts is not set: name the ServiceAccount of your gateway's pods; it gets the right to list and watch HPAs, Services, Deployments and StatefulSets" -}}
{{- else if not (or .service $.Values.headerOnly) -}}
{{- fail "gateway.service is not set: name your gateway's Service; the filter answers /burstmetrics for its names" -}}
{{- end -}}
{{- end -}}
{{- else if and (eq $target "waypoint") (not .Values.waypoint.name) -}}
{{- fail "waypoint.name is not set: set it to the name of the waypoint's Gateway" -}}
{{- else if and (eq $target "own-gateway") (not .Values.ownGateway.name) -}}
{{- fail "ownGateway.name is not set: name the gateway that the chart creates" -}}
{{- end -}}
{{- if and (eq $target "waypoint") (eq .Values.form "EnvoyFilter") -}}
{{- fail "form EnvoyFilter is not for a waypoint: set form to WasmPlugin or TrafficExtension" -}}
{{- end -}}
{{- if .Values.hub.host -}}
{{- if ne $target "sidecar" -}}
{{- fail (printf "hub.host is for sidecars: set target to sidecar, not %s" $target) -}}
{{- else if eq .Values.form "EnvoyFilter" -}}
{{- fail "hub.host needs form WasmPlugin or TrafficExtension: a spoke has no streams" -}}
{{- else if or .Values.namespaces .Values.workloads .Values.sidecar.serviceAccounts -}}
{{- fail "hub.host is set, so the sidecars read nothing from the Kubernetes API: remove namespaces, workloads and sidecar.serviceAccounts" -}}
{{- end -}}
{{- end -}}
{{- if .Values.metricsApis.enabled -}}
{{- if ne $target "gateway" -}}
{{- fail (printf "metricsApis.enabled needs a gateway: set target to gateway, not %s" $target) -}}
{{- else if or (ne .Values.form "EnvoyFilter") .Values.headerOnly -}}
{{- fail "metricsApis.enabled needs the full module as an EnvoyFilter: set form to EnvoyFilter and headerOnly to false" -}}
{{- else if not .Values.metricsApis.kubectlImage -}}
{{- fail "metricsApis.kubectlImage is not set: name an image with a shell and kubectl, for the CronJob that copies the API server's authority" -}}
{{- end -}}
{{- end -}}
{{- range $key, $instead := dict "cluster" "" "source" "hub.host" "authority" "hub.host" "namespaces" "namespaces" "workloads" "workloads" "cluster_domain" "clusterDomain" -}}
{{- if hasKey $.Values.config $key -}}
{{- fail (printf "config.%s cannot be set, because other objects depend on it%s" $key ($instead | empty | ternary "" (printf ": set %s instead" $instead))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
