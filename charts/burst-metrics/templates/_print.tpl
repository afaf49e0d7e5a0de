{{/*
Prints an object of istio/ for this release: its namespace, its proxies and the labels of the release. Arguments: root, object;
namespace: of a Role or RoleBinding that is not in the release's namespace.
*/}}
{{- define "burst.print" -}}
{{- $root := .root -}}
{{- $object := .object -}}
{{- $metadata := $object.metadata -}}
{{- $namespace := $root.Release.Namespace -}}
{{- with .namespace -}}
{{- $_ := set $metadata "namespace" . -}}
{{- else -}}
{{- if not (has $object.kind (list "ClusterRole" "ClusterRoleBinding" "APIService" "CustomResourceDefinition")) -}}
{{- if has (get $metadata "namespace") (list "" "istio-system" "shop") -}}
{{- $_ := set $metadata "namespace" $namespace -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $labels := dict
  "app.kubernetes.io/name" $root.Chart.Name
  "app.kubernetes.io/instance" $root.Release.Name
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/managed-by" $root.Release.Service
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version) -}}
{{- $_ := set $metadata "labels" (merge $labels (get $metadata "labels" | default dict)) -}}
{{- $proxies := include "burst.proxies" $root | fromJson -}}
{{- $spec := get $object "spec" | default dict -}}
{{- if has $object.kind (list "WasmPlugin" "TrafficExtension" "AuthorizationPolicy" "EnvoyFilter") -}}
{{- $selector := eq $object.kind "EnvoyFilter" | ternary "workloadSelector" "selector" -}}
{{- $_ := unset $spec $selector -}}
{{- $_ := unset $spec "targetRefs" -}}
{{- if $proxies.targetRefs -}}
{{- $_ := set $spec "targetRefs" $proxies.targetRefs -}}
{{- else if $proxies.labels -}}
{{- $_ := set $spec $selector (dict (eq $object.kind "EnvoyFilter" | ternary "labels" "matchLabels") $proxies.labels) -}}
{{- end -}}
{{- else if eq $object.kind "NetworkPolicy" -}}
{{- $_ := set $spec "podSelector" (dict "matchLabels" $proxies.labels) -}}
{{- else if eq $object.kind "Service" -}}
{{- $_ := set $spec "selector" $proxies.labels -}}
{{- else if eq $object.kind "APIService" -}}
{{- $_ := set $spec.service "namespace" $namespace -}}
{{- else if has $object.kind (list "RoleBinding" "ClusterRoleBinding") -}}
{{- range $object.subjects -}}
{{- if eq (get . "namespace") "istio-system" -}}
{{- $_ := set . "namespace" $namespace -}}
{{- end -}}
{{- end -}}
{{- end }}
---
{{ toYaml $object }}
{{- end -}}
