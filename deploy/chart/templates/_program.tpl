{{- /* Everything of one program: Service, Deployment, what scales it and what lets requests in. */ -}}
{{- define "loci.program" -}}
{{- $name := include "loci.name" . -}}
{{- $port := include "loci.port" . -}}
{{- $scheme := include "loci.scheme" . -}}
{{- $values := .values -}}
{{- $settings := .values.settings -}}
{{- $graceMs := int (get $settings "LOCI_DRAIN_GRACE_MS" | default 3000) -}}
{{- $drainMs := int (get $settings "LOCI_DRAIN_MS" | default 15000) -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  labels: {{- include "loci.labels" . | nindent 4 }}
automountServiceAccountToken: false
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels: {{- include "loci.labels" . | nindent 4 }}
  {{- with $values.service.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ $values.service.type }}
  selector: {{- include "loci.selector" . | nindent 4 }}
  ports:
    - { name: {{ lower $scheme }}, port: {{ $port }}, targetPort: loci }
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels: {{- include "loci.labels" . | nindent 4 }}
spec:
  {{- if not $values.hpa.enabled }}
  replicas: {{ $values.replicas }}
  {{- end }}
  # One by one, and never fewer than there are: a restart costs no request.
  strategy: { type: RollingUpdate, rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }
  selector:
    matchLabels: {{- include "loci.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "loci.labels" . | nindent 8 }}
        {{- with $values.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- with $values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ $name }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      # The grace in which it still accepts, the drain of what runs, and a little.
      terminationGracePeriodSeconds: {{ add (div (add $graceMs $drainMs 999) 1000) 10 }}
      securityContext: {{- include "loci.podSecurity" . | nindent 8 }}
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "loci.selector" . | nindent 14 }}
      containers:
        - name: {{ .program }}
          image: {{ include "loci.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command: [loci-{{ .program }}]
          env:
            - { name: LOCI_LISTEN, value: '0.0.0.0:{{ $port }}' }
            {{- include "loci.environment" . | nindent 12 }}
          ports: [{ name: loci, containerPort: {{ $port }} }]
          # Live says that the process runs, and never that PostgreSQL is away: a restart would mend nothing. It starts
          # for as long as it waits for its schema.
          {{- $header := `` }}
          {{- if and (eq $scheme "HTTP") (eq (toString (get $settings "LOCI_REQUIRE_HTTPS")) "true") }}
          {{- $header = `, httpHeaders: [{ name: X-Forwarded-Proto, value: https }]` }}
          {{- end }}
          livenessProbe:
            httpGet: { path: /health/live, port: loci, scheme: {{ $scheme }}{{ $header }} }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: /health/ready, port: loci, scheme: {{ $scheme }}{{ $header }} }
            periodSeconds: 1
            timeoutSeconds: 5
            failureThreshold: 2
          startupProbe:
            httpGet: { path: /health/startup, port: loci, scheme: {{ $scheme }}{{ $header }} }
            periodSeconds: 2
            timeoutSeconds: 5
            failureThreshold: 60
          resources: {{- toYaml $values.resources | nindent 12 }}
          securityContext: {{- include "loci.security" . | nindent 12 }}
          volumeMounts: {{- include "loci.mounts" . | nindent 12 }}
      volumes: {{- include "loci.volumes" . | nindent 8 }}
{{- if and $values.pdb.enabled (or (gt (int $values.replicas) 1) $values.hpa.enabled) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels: {{- include "loci.labels" . | nindent 4 }}
spec:
  minAvailable: {{ $values.pdb.minAvailable }}
  selector:
    matchLabels: {{- include "loci.selector" . | nindent 6 }}
{{- end }}
{{- if $values.hpa.enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  labels: {{- include "loci.labels" . | nindent 4 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ $name }} }
  minReplicas: {{ $values.hpa.minReplicas }}
  maxReplicas: {{ $values.hpa.maxReplicas }}
  metrics:
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: {{ $values.hpa.cpuPercent }} } }
{{- end }}
{{- with $values.ingress }}
{{- if .enabled }}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ $name }}
  labels: {{- include "loci.labels" $ | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- if .tlsSecret }}
  tls: [{ hosts: [{{ .host }}], secretName: {{ .tlsSecret }} }]
  {{- end }}
  rules:
    - host: {{ required (printf "%s.ingress.host: under which name is it reached?" $.program) .host }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: { service: { name: {{ $name }}, port: { number: {{ $port }} } } }
{{- end }}
{{- end }}
{{- with $values.httpRoute }}
{{- if .enabled }}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: {{ $name }}
  labels: {{- include "loci.labels" $ | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  parentRefs: {{- toYaml (required (printf "%s.httpRoute.parentRefs: which Gateway?" $.program) .parentRefs) | nindent 4 }}
  {{- with .hostnames }}
  hostnames: {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    # Event streams stay open.
    - timeouts: { request: 0s }
      backendRefs: [{ name: {{ $name }}, port: {{ $port }} }]
{{- end }}
{{- end }}
{{- if .root.Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ $name }}
  labels: {{- include "loci.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels: {{- include "loci.selector" . | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
    # The programs of this release, which ask each other, and its test.
    - from: [{ podSelector: { matchLabels: { app.kubernetes.io/name: loci, app.kubernetes.io/instance: {{ .root.Release.Name }} } } }]
      ports: [{ port: loci }]
    {{- with .root.Values.networkPolicy.from }}
    - from: {{- toYaml . | nindent 8 }}
      ports: [{ port: loci }]
    {{- end }}
{{- end }}
{{- if .root.Values.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ $name }}
  labels:
    {{- include "loci.labels" . | nindent 4 }}
    {{- with .root.Values.serviceMonitor.labels }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  selector:
    matchLabels: {{- include "loci.selector" . | nindent 6 }}
  endpoints:
    - port: {{ lower $scheme }}
      path: /metrics
      scheme: {{ lower $scheme }}
      interval: {{ .root.Values.serviceMonitor.interval }}
      {{- if eq $scheme "HTTPS" }}
      # Each pod is asked by its address, which no certificate names.
      tlsConfig: { insecureSkipVerify: true }
      {{- end }}
      # The rules know the programs by the names of their jobs.
      relabelings: [{ targetLabel: job, replacement: loci-{{ .program }} }]
{{- end }}
{{- end -}}
