{{- define "gvList" -}}
<!-- Generated from api/v1alpha1 by make docs. -->
# API reference
{{ range . }}
{{ template "gvDetails" . }}
{{ end }}
{{- end -}}
