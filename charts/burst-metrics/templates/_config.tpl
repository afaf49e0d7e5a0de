{{/* The configuration of the filter, as JSON: that of the set, then the values, then `config`. */}}
{{- define "burst.config" -}}
{{- $domain := .Values.clusterDomain -}}
{{- $file := "istio/gateway/plugin.yaml" -}}
{{- if .Values.hub.host -}}
{{- $file = "istio/spoke.yaml" -}}
{{- else if eq .Values.target "sidecar" -}}
{{- $file = "istio/sidecar/plugin.yaml" -}}
{{- else if eq .Values.target "waypoint" -}}
{{- $file = "istio/waypoint/plugin.yaml" -}}
{{- end -}}
{{- $config := (include "burst.object" (dict "root" $ "file" $file) | fromJson).spec.pluginConfig -}}
{{- if .Values.headerOnly -}}
{{- $_ := unset $config "endpoints" -}}
{{- else if include "burst.isGateway" . -}}
{{- $host := printf "%s.%s" (include "burst.service" .) .Release.Namespace -}}
{{- $_ := set $config.endpoints "hosts" (list $host (printf "%s.svc" $host) (printf "%s.svc.%s" $host $domain)) -}}
{{- end -}}
{{- if .Values.hub.host -}}
{{- $_ := set $config "cluster" (printf "outbound|%d||%s" (int .Values.hub.port) .Values.hub.host) -}}
{{- $_ := set $config "authority" .Values.hub.host -}}
{{- else if not (include "burst.isGateway" .) -}}
{{- $_ := set $config "namespaces" (list .Release.Namespace) -}}
{{- end -}}
{{- with .Values.namespaces -}}
{{- $_ := set $config "namespaces" . -}}
{{- end -}}
{{- with .Values.workloads -}}
{{- $_ := set $config "workloads" . -}}
{{- end -}}
{{- if ne $domain "cluster.local" -}}
{{- $_ := set $config "cluster_domain" $domain -}}
{{- end -}}
{{- with .Values.metricsApis -}}
{{- if .enabled -}}
{{- $apis := dict "filter_chain" "burst-metrics-apis" -}}
{{- if .review -}}
{{- $_ := set $apis "authorization" "subject_access_review" -}}
{{- end -}}
{{- if .policies -}}
{{- $_ := set $apis "policies" (dict "root_namespace" $.Release.Namespace) -}}
{{- end -}}
{{- $_ := set $config "metrics_apis" $apis -}}
{{- end -}}
{{- end -}}
{{- include "burst.merge" (dict "target" $config "changes" .Values.config) -}}
{{- toJson $config -}}
{{- end -}}
