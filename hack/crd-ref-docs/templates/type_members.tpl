{{- define "type_members" -}}
{{- if eq .Name "metadata" -}}
Kubernetes' own.
{{- else -}}
{{ markdownRenderFieldDoc .Doc | replace "<br />" " " | trim }}
{{- end -}}
{{- end -}}
