{{/* The name of the objects, or its beginning. */}}
{{- define "burst.name" -}}
{{- .Values.name | default .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of the roles. It has the namespace, because a cluster may have one release in each of several namespaces. */}}
{{- define "burst.roleName" -}}
{{- printf "%s-%s" (include "burst.name" .) .Release.Namespace -}}
{{- end -}}

{{- define "burst.isGateway" -}}
{{- if has .Values.target (list "own-gateway" "gateway") -}}true{{- end -}}
{{- end -}}

{{/* The Service of the gateway. */}}
{{- define "burst.service" -}}
{{- if eq .Values.target "own-gateway" -}}
{{- .Values.ownGateway.name -}}
{{- else -}}
{{- .Values.gateway.service -}}
{{- end -}}
{{- end -}}

{{/* The proxies that get the filter, as JSON: labels of their pods, or targetRefs, or neither for the whole namespace. */}}
{{- define "burst.proxies" -}}
{{- $gatewayApi := dict "gateway" .Values.gateway.gatewayName "waypoint" .Values.waypoint.name -}}
{{- with get $gatewayApi .Values.target -}}
{{- dict "targetRefs" (list (dict "group" "gateway.networking.k8s.io" "kind" "Gateway" "name" .)) "labels" (dict "gateway.networking.k8s.io/gateway-name" .) | toJson -}}
{{- else -}}
{{- $labels := dict "own-gateway" (dict "istio" .Values.ownGateway.name) "gateway" .Values.gateway.labels "sidecar" .Values.sidecar.labels -}}
{{- dict "labels" (get $labels .Values.target) | toJson -}}
{{- end -}}
{{- end -}}

{{/* The subjects of the role bindings, as JSON {"subjects": […]}. */}}
{{- define "burst.subjects" -}}
{{- $accounts := list -}}
{{- if eq .Values.target "own-gateway" -}}
{{- $accounts = list .Values.ownGateway.name -}}
{{- else if eq .Values.target "gateway" -}}
{{- $accounts = .Values.gateway.serviceAccounts -}}
{{- else if eq .Values.target "waypoint" -}}
{{- $accounts = list (.Values.waypoint.serviceAccount | default .Values.waypoint.name) -}}
{{- else -}}
{{- $accounts = .Values.sidecar.serviceAccounts -}}
{{- end -}}
{{- $subjects := list -}}
{{- range $accounts -}}
{{- $subjects = append $subjects (dict "kind" "ServiceAccount" "name" . "namespace" $.Release.Namespace) -}}
{{- end -}}
{{- if not $subjects -}}
{{- $group := printf "system:serviceaccounts:%s" .Release.Namespace -}}
{{- $subjects = list (dict "apiGroup" "rbac.authorization.k8s.io" "kind" "Group" "name" $group) -}}
{{- end -}}
{{- dict "subjects" $subjects | toJson -}}
{{- end -}}

{{/* The location of the module. */}}
{{- define "burst.url" -}}
{{- with .Values.image -}}
{{- .url | default (printf "oci://%s:%s" .repository (.tag | default $.Chart.AppVersion)) -}}
{{- end -}}
{{- end -}}
