{{- define "gvDetails" -}}
{{- $gv := . -}}
`apiVersion: {{ $gv.GroupVersionString }}`

Everything is namespaced and in the category `minecraft`. A field without a
default that is not required may be left out. What breaks a rule below is
refused when it is applied.
{{ range $gv.SortedKinds }}
- {{ $gv.TypeForKind . | markdownRenderTypeLink }}
{{- end }}
{{ range $gv.SortedTypes }}{{ if .GVK }}{{ template "type" . }}{{ end }}{{ end }}
{{- range $gv.SortedTypes }}{{ if not .GVK }}{{ template "type" . }}{{ end }}{{ end }}
{{- end -}}
