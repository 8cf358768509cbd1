{{/* Name of the release's objects. */}}
{{- define "tributary.fullname" -}}
{{- if contains "tributary" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-tributary" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Labels that select the pods of a role: dict "root" $ "role" "edge". */}}
{{- define "tributary.selector" -}}
app.kubernetes.io/name: tributary
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "tributary.labels" -}}
{{ include "tributary.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* Name of a pod of a role in the cluster's DNS: dict "root" $ "role" "edge" "pod" "$(POD_NAME)". */}}
{{- define "tributary.podHost" -}}
{{ .pod }}.{{ include "tributary.fullname" .root }}-{{ .role }}.{{ .root.Release.Namespace }}.svc.cluster.local
{{- end }}

{{/* Addresses of all pods of a role, separated by commas: dict "root" $ "role" "…" "replicas" 2 "scheme" "https://" "port" 5000. */}}
{{- define "tributary.addresses" -}}
{{- $addresses := list -}}
{{- range $index := until (int .replicas) -}}
{{- $pod := printf "%s-%s-%d" (include "tributary.fullname" $.root) $.role $index -}}
{{- $addresses = append $addresses (printf "%s%s:%d" $.scheme (include "tributary.podHost" (dict "root" $.root "role" $.role "pod" $pod)) (int $.port)) -}}
{{- end -}}
{{ join "," $addresses }}
{{- end }}

{{- define "tributary.controlAddress" -}}
{{ include "tributary.addresses" (dict "root" . "role" "control" "replicas" .Values.controlPlane.replicas "scheme" "" "port" 4100) }}
{{- end }}

{{- define "tributary.coordinatorUrl" -}}
https://{{ include "tributary.fullname" . }}-coordinator.{{ .Release.Namespace }}.svc.cluster.local:5100
{{- end }}

{{/* Seconds from SIGTERM to SIGKILL: the drain, and what a process needs beside it. */}}
{{- define "tributary.graceSeconds" -}}
{{ add (div (add (int (default 0 .drainDelayMs)) (int .drainMs) 999) 1000) 35 }}
{{- end }}

{{/* A PodTemplateSpec: dict "root" $ "role" "edge" "command" "edge" "values" .Values.edge "tls" "secret" "ports" (dict …) "env" (list …). */}}
{{- define "tributary.pod" -}}
metadata:
  labels:
    {{- include "tributary.labels" . | nindent 4 }}
  annotations:
    checksum/config: {{ .root.Values.config | sha256sum }}
spec:
  serviceAccountName: {{ include "tributary.fullname" .root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "tributary.graceSeconds" .values }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "tributary.selector" . | nindent 10 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: {{ .role }}
      image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: [{{ .command }}]
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      env:
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        - name: METRICS_HOST
          value: 0.0.0.0
        - name: METRICS_PORT
          value: "9464"
        - name: TLS_CERT
          value: /etc/tributary/tls/cert.pem
        - name: TLS_KEY
          value: /etc/tributary/tls/key.pem
        - name: TLS_CA
          value: /etc/tributary/tls/ca.pem
        - name: PUBLIC_URL
          value: {{ .root.Values.publicUrl | quote }}
        - name: DRAIN_MS
          value: {{ .values.drainMs | quote }}
        {{- with .values.drainDelayMs }}
        - name: DRAIN_DELAY_MS
          value: {{ . | quote }}
        {{- end }}
        {{- with .root.Values.trustProxy }}
        - name: TRUST_PROXY
          value: {{ join "," . | quote }}
        {{- end }}
        {{- range .values.secrets }}
        - name: {{ . }}_FILE
          value: /etc/tributary/secrets/{{ . }}
        {{- end }}
        {{- toYaml .env | nindent 8 }}
        {{- range $name, $value := .values.env }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      ports:
        {{- range $name, $port := .ports }}
        - name: {{ $name }}
          containerPort: {{ $port }}
        {{- end }}
        - name: metrics
          containerPort: 9464
      startupProbe:
        httpGet: { path: /healthz, port: metrics }
        periodSeconds: 2
        failureThreshold: 90
      livenessProbe:
        httpGet: { path: /healthz, port: metrics }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /ready, port: metrics }
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      resources:
        {{- toYaml .values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /var/lib/tributary
        - name: tmp
          mountPath: /tmp
        - name: tls
          mountPath: /etc/tributary/tls
          readOnly: true
        {{- if .values.secrets }}
        - name: secrets
          mountPath: /etc/tributary/secrets
          readOnly: true
        {{- end }}
        {{- if and .root.Values.config (eq .role "control") }}
        - name: config
          mountPath: /etc/tributary/config
          readOnly: true
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if eq .role "control" }}
    - name: data
      emptyDir: {}
    {{- end }}
    - name: tls
      secret:
        secretName: {{ .tls }}
        defaultMode: 0440
    {{- if .values.secrets }}
    - name: secrets
      secret:
        secretName: {{ .root.Values.existingSecret }}
        defaultMode: 0440
        items:
          {{- range .values.secrets }}
          - { key: {{ . }}, path: {{ . }} }
          {{- end }}
    {{- end }}
    {{- if and .root.Values.config (eq .role "control") }}
    - name: config
      configMap:
        name: {{ include "tributary.fullname" .root }}-config
    {{- end }}
{{- end }}

{{/* A PersistentVolumeClaim of a StatefulSet: dict "volume" .Values.edge.journal. */}}
{{- define "tributary.claim" -}}
- metadata:
    name: data
  spec:
    accessModes: [ReadWriteOnce]
    {{- with .volume.storageClassName }}
    storageClassName: {{ . }}
    {{- end }}
    resources:
      requests:
        storage: {{ .volume.size }}
{{- end }}

{{/* A service that names each pod: dict "root" $ "role" "…" "ports" (dict …). */}}
{{- define "tributary.headless" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "tributary.fullname" .root }}-{{ .role }}
  labels:
    {{- include "tributary.labels" . | nindent 4 }}
spec:
  clusterIP: None
  publishNotReadyAddresses: {{ .unready }}
  selector:
    {{- include "tributary.selector" . | nindent 4 }}
  ports:
    {{- range $name, $port := .ports }}
    - { name: {{ $name }}, port: {{ $port }}, targetPort: {{ $name }} }
    {{- end }}
    - { name: metrics, port: 9464, targetPort: metrics }
{{- end }}

{{/* At most one pod of a role is away by a voluntary disruption. */}}
{{- define "tributary.disruption" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "tributary.fullname" .root }}-{{ .role }}
  labels:
    {{- include "tributary.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "tributary.selector" . | nindent 6 }}
{{- end }}
