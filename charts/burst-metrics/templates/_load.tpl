{{/*
The manifests of istio/ and monitoring/ are the source of every object: files/ has symbolic links to them, and a packaged chart
has copies. These helpers read and change them.
*/}}

{{/* The text of a file. Arguments: root, file. */}}
{{- define "burst.text" -}}
{{- $text := .root.Files.Get (printf "files/%s" .file) -}}
{{- if not $text -}}
{{- fail (printf "the chart has no files/%s: use a packaged chart, or a checkout with symbolic links" .file) -}}
{{- end -}}
{{- $text -}}
{{- end -}}

{{/*
The objects of a file, as JSON {"objects": […]}. Arguments: root, file; replace: texts to replace first, as {old: new}.
*/}}
{{- define "burst.objects" -}}
{{- $text := include "burst.text" . -}}
{{- range $old, $new := .replace -}}
{{- $text = replace $old $new $text -}}
{{- end -}}
{{- $objects := list -}}
{{- range splitList "\n---\n" $text -}}
{{- $object := fromYaml . -}}
{{- if not (get $object "kind") -}}
{{- fail (printf "files/%s: %s" $.file (get $object "Error")) -}}
{{- end -}}
{{- $objects = append $objects $object -}}
{{- end -}}
{{- dict "objects" $objects | toJson -}}
{{- end -}}

{{/* The first object of a file, as JSON. The same arguments. */}}
{{- define "burst.object" -}}
{{- first (include "burst.objects" . | fromJson).objects | toJson -}}
{{- end -}}

{{/*
Applies a JSON patch of istio/ to an object in place. It can add to the beginning of a list, and set and remove fields.
Arguments: root, file, object.
*/}}
{{- define "burst.patch" -}}
{{- $object := .object -}}
{{- range $change := include "burst.text" . | fromYamlArray -}}
{{- $keys := rest (splitList "/" $change.path) -}}
{{- $key := last $keys -}}
{{- $at := $object -}}
{{- $parent := dict -}}
{{- $name := "" -}}
{{- range initial $keys -}}
{{- $parent = $at -}}
{{- $name = . -}}
{{- if kindIs "slice" $at -}}
{{- $at = index $at (int .) -}}
{{- else -}}
{{- $at = index $at . -}}
{{- end -}}
{{- end -}}
{{- if kindIs "slice" $at -}}
{{- $_ := set $parent $name (prepend $at $change.value) -}}
{{- else if eq $change.op "remove" -}}
{{- $_ := unset $at $key -}}
{{- else -}}
{{- $_ := set $at $key $change.value -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Applies a JSON merge patch in place: null removes a key. Arguments: target, changes. */}}
{{- define "burst.merge" -}}
{{- $target := .target -}}
{{- range $key, $value := .changes -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := unset $target $key -}}
{{- else if kindIs "map" $value -}}
{{- if not (kindIs "map" (get $target $key)) -}}
{{- $_ := set $target $key dict -}}
{{- end -}}
{{- include "burst.merge" (dict "target" (get $target $key) "changes" $value) -}}
{{- else -}}
{{- $_ := set $target $key $value -}}
{{- end -}}
{{- end -}}
{{- end -}}
