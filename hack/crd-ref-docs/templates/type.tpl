{{- define "type" -}}
{{- $type := . -}}
{{- if markdownShouldRenderType $type }}
{{ if $type.GVK }}## {{ $type.Name }}{{ else }}### {{ $type.Name }}{{ end }}

{{ $type.Doc }}
{{ if and $type.References (not $type.GVK) }}
In {{ range $index, $reference := $type.SortedReferences }}{{ if $index }}, {{ end }}{{ markdownRenderTypeLink $reference }}{{ end }}.
{{ end }}
{{- if $type.Members }}
| field | meaning | default | rules |
|---|---|---|---|
{{ range $type.Members -}}
| `{{ .Name }}` {{ markdownRenderType .Type }} | {{ template "type_members" . }} | {{ with .Default }}`{{ markdownRenderDefault . }}`{{ end }} | {{ template "rules" .Validation }} |
{{ end -}}
{{ end -}}
{{- if $type.EnumValues }}
| value | meaning |
|---|---|
{{ range $type.EnumValues -}}
| `{{ .Name }}` | {{ markdownRenderFieldDoc .Doc | replace "<br />" " " | trim }} |
{{ end -}}
{{ end -}}
{{- end -}}
{{- end -}}

{{- define "rules" -}}
{{- $first := true -}}
{{- range . -}}
{{- if not (or (hasPrefix "Optional" .) (hasPrefix "Enum" .) (hasPrefix "MinProperties" .) (eq "MinLength: 0" (trim .))) -}}
{{- if not $first }}; {{ end }}{{- $first = false -}}
{{- if hasPrefix "Required" . }}required{{ else }}{{ markdownRenderFieldDoc . | trim }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
