// deploy/chart/values.schema.json: what may stand in the values of the chart, by the settings that programs declare. A
// misspelt value is refused by helm, and a secret has no place where its value could be written.

import { readFileSync } from 'node:fs'
import type { Setting } from '@loci/chassis/settings.ts'

interface Program {
  program: string
  settings: Record<string, Setting<unknown>>
}

/** The chart decides these by itself. */
const OF_THE_CHART = ['LOCI_LISTEN', 'LOCI_ADMIN_LISTEN', 'LOCI_TLS_CERT', 'LOCI_TLS_KEY']

const text = { type: 'string' }
const flag = { type: 'boolean' }
const count = { type: 'integer', minimum: 0 }
const texts = { type: 'object', additionalProperties: text }
const things = { type: 'object' }
const list = { type: 'array' }

export function chartSchema(programs: Program[]): Record<string, string> {
  const of = Object.fromEntries(programs.map((program) => [program.program, programSchema(program)]))
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart loci; written by scripts/chart.ts',
    ...object({
      image: object({
        ...{ repository: text, tag: text, pullSecrets: list },
        digest: { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
        pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] },
      }),
      ...of,
      migrate: object({ enabled: flag, deadlineSeconds: count, resources: things }),
      networkPolicy: object({ enabled: flag, from: list }),
      serviceMonitor: object({ enabled: flag, interval: text, labels: texts }),
      prometheusRule: object({ enabled: flag, labels: texts }),
      test: object({ existingSecret: text, key: text, url: text }),
      cloudnativepg: object({
        ...{ enabled: flag, image: text, rolesConfigMap: text },
        instances: { type: 'integer', minimum: 1 },
        storage: object({ size: text, class: text }),
      }),
      // Helm puts this there where the chart is a part of another one.
      global: things,
    }),
  }
  // A chart reads no file above itself, and helm complains of links.
  const copies = ['rules', 'alerts'].map((name): [string, string] => [
    `deploy/chart/files/${name}.yml`,
    readFileSync(`deploy/prometheus/${name}.yml`, 'utf8'),
  ])
  return { ...Object.fromEntries(copies), 'deploy/chart/values.schema.json': `${JSON.stringify(schema, null, 2)}\n` }
}

function programSchema({ settings }: Program): object {
  const declared = Object.values(settings).filter(({ env }) => !OF_THE_CHART.includes(env))
  const plain = declared.filter(({ secret }) => !secret)
  const from = {
    ...object({ name: { ...text, minLength: 1 }, key: { ...text, minLength: 1 } }),
    required: ['name', 'key'],
  }
  return object({
    ...{ enabled: flag, resources: things, podAnnotations: texts, podLabels: texts, nodeSelector: texts },
    ...{ tolerations: list, affinity: things, priorityClassName: text },
    replicas: count,
    settings: object(
      Object.fromEntries(
        plain.map(({ env, doc }) => [env, { type: ['string', 'number', 'boolean'], description: doc }]),
      ),
    ),
    secrets: object(Object.fromEntries(declared.map(({ env }) => [env, from]))),
    tls: object({ existingSecret: text }),
    pdb: object({ enabled: flag, minAvailable: { type: ['integer', 'string'] } }),
    hpa: object({ enabled: flag, minReplicas: count, maxReplicas: count, cpuPercent: count }),
    service: object({ type: { enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] }, annotations: texts }),
    ingress: object({ ...{ enabled: flag, className: text, host: text, tlsSecret: text }, annotations: texts }),
    httpRoute: object({ ...{ enabled: flag, parentRefs: list, hostnames: list }, annotations: texts }),
  })
}

function object(properties: Record<string, object>) {
  return { type: 'object', additionalProperties: false, properties }
}
