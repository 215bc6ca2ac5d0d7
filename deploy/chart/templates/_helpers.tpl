{{- define "loci.name" -}}
{{- printf "%s-%s" .root.Release.Name .program | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "loci.selector" -}}
app.kubernetes.io/name: loci
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .program }}
{{- end -}}

{{- define "loci.labels" -}}
{{ include "loci.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "loci.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "loci.port" -}}
{{- if eq .program "daemon" }}4410{{ else }}4400{{ end -}}
{{- end -}}

{{- /* Plain http off loopback is refused by the programs: the release says how requests arrive. */ -}}
{{- define "loci.scheme" -}}
{{- if .values.tls.existingSecret }}HTTPS{{ else -}}
{{- if not (hasKey .values.settings "LOCI_REQUIRE_HTTPS") -}}
{{- fail (printf "%s: how do requests arrive? Give %s.tls.existingSecret, or say %s.settings.LOCI_REQUIRE_HTTPS: \"true\" behind a proxy that ends TLS, \"false\" where the network is yours alone" .program .program .program) -}}
{{- end -}}
HTTP{{- end -}}
{{- end -}}

{{- define "loci.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "loci.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- /* The migrate job has the owner's login and no other secret; the programs have every other. */ -}}
{{- define "loci.isGiven" -}}
{{- if .isOwner }}{{ has .name (list "LOCI_DATABASE_OWNER_URL" "LOCI_DATABASE_CA") }}{{ else }}{{ ne .name "LOCI_DATABASE_OWNER_URL" }}{{ end -}}
{{- end -}}

{{- /* Settings, and for each secret the file that has it. */ -}}
{{- define "loci.environment" -}}
{{- $given := . -}}
{{- range $name, $value := .values.settings }}
{{- if or (not $given.isOwner) (eq $name "LOCI_DATABASE_CA") }}
- { name: {{ $name }}, value: {{ $value | toString | quote }} }
{{- end }}
{{- end }}
{{- range $name, $from := .values.secrets }}
{{- if eq (include "loci.isGiven" (dict "name" $name "isOwner" $given.isOwner)) "true" }}
- { name: {{ $name }}_FILE, value: {{ printf "/run/loci/%s" $name }} }
{{- end }}
{{- end }}
{{- if and .values.tls.existingSecret (not .isOwner) }}
- { name: LOCI_TLS_CERT_FILE, value: /run/loci-tls/tls.crt }
- { name: LOCI_TLS_KEY_FILE, value: /run/loci-tls/tls.key }
{{- end }}
{{- end -}}

{{- define "loci.mounts" -}}
- { name: secrets, mountPath: /run/loci, readOnly: true }
{{- if and .values.tls.existingSecret (not .isOwner) }}
- { name: tls, mountPath: /run/loci-tls, readOnly: true }
{{- end }}
- { name: temporary, mountPath: /tmp }
- { name: data, mountPath: /data }
{{- end -}}

{{- define "loci.volumes" -}}
{{- $given := . -}}
- name: secrets
  projected:
    # Read by the group of the pod, which is nobody else's.
    defaultMode: 0440
    sources:
      {{- range $name, $from := .values.secrets }}
      {{- if eq (include "loci.isGiven" (dict "name" $name "isOwner" $given.isOwner)) "true" }}
      - secret: { name: {{ $from.name }}, items: [{ key: {{ $from.key }}, path: {{ $name }} }] }
      {{- end }}
      {{- end }}
{{- if and .values.tls.existingSecret (not .isOwner) }}
- name: tls
  secret: { secretName: {{ .values.tls.existingSecret }}, defaultMode: 0440 }
{{- end }}
- name: temporary
  emptyDir: { sizeLimit: 64Mi }
- name: data
  emptyDir: { sizeLimit: 64Mi }
{{- end -}}
