{{/* The StatefulSet of a role with its services: the arguments of tributary.pod, and "replicas", "volume", "unready", "parallel". */}}
{{- define "tributary.role" -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ include "tributary.fullname" .root }}-{{ .role }}
  labels:
    {{- include "tributary.labels" . | nindent 4 }}
spec:
  serviceName: {{ include "tributary.fullname" .root }}-{{ .role }}
  {{- if ge (int .replicas) 0 }}
  replicas: {{ .replicas }}
  {{- end }}
  podManagementPolicy: {{ if .parallel }}Parallel{{ else }}OrderedReady{{ end }}
  selector:
    matchLabels:
      {{- include "tributary.selector" . | nindent 6 }}
  template:
    {{- include "tributary.pod" . | nindent 4 }}
  {{- with .volume }}
  persistentVolumeClaimRetentionPolicy:
    whenDeleted: Retain
    whenScaled: Retain
  volumeClaimTemplates:
    {{- include "tributary.claim" (dict "volume" .) | nindent 4 }}
  {{- end }}
---
{{ include "tributary.headless" . }}
{{- if .root.Values.podDisruptionBudget.enabled }}
---
{{ include "tributary.disruption" . }}
{{- end }}
{{- end }}
