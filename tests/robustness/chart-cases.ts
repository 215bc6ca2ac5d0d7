// Says where each value of deploy/chart is seen in the manifests, and which values must be refused.

export interface Manifest {
  kind: string
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> }
  // biome-ignore lint/suspicious/noExplicitAny: of every kind, read by path.
  spec: any
  automountServiceAccountToken?: boolean
}

interface Case {
  given: Record<string, unknown>
  seen(manifests: Manifest[]): boolean
}

const secret = (name: string, key: string) => ({ name, key })

/** These have no default: where secrets lie, and how requests arrive. */
export const MINIMUM: Record<string, unknown> = {
  'management.settings': { LOCI_PUBLIC_URL: 'https://loci.example', LOCI_REQUIRE_HTTPS: 'false' },
  'management.secrets': {
    LOCI_DATABASE_URL: secret('control', 'url'),
    LOCI_DATABASE_OWNER_URL: secret('control', 'owner-url'),
    LOCI_SEALING_KEYS: secret('control', 'sealing-keys'),
  },
  'daemon.settings': {
    LOCI_MANAGEMENT_URL: 'https://loci.example',
    LOCI_CELL_ID: 'cell_1',
    LOCI_REQUIRE_HTTPS: 'false',
  },
  'daemon.secrets': {
    LOCI_DATABASE_URL: secret('cell', 'url'),
    LOCI_DATABASE_OWNER_URL: secret('cell', 'owner-url'),
    LOCI_SEALING_KEYS: secret('cell', 'sealing-keys'),
    LOCI_CELL_KEY: secret('cell', 'key'),
    LOCI_ADMIN_TOKEN_DIGESTS: secret('cell', 'digests'),
  },
}

const find = (manifests: Manifest[], kind: string, name: string) =>
  manifests.find((one) => one.kind === kind && one.metadata.name === name)
const pod = (manifests: Manifest[], program = 'daemon') => find(manifests, 'Deployment', `x-${program}`)?.spec.template
const container = (manifests: Manifest[], program?: string) => pod(manifests, program)?.spec.containers[0]
const has = (value: unknown, part: string) => JSON.stringify(value ?? null).includes(part)
const deployed = (manifests: Manifest[]) => manifests.filter(({ kind }) => kind === 'Deployment')

export const CASES: Record<string, Case> = {
  'as it is: both programs, each migrated before, without a token of Kubernetes and with a read-only root': {
    given: {},
    seen: (all) =>
      deployed(all).length === 2 &&
      all.filter(({ kind }) => kind === 'Job').length === 2 &&
      [...deployed(all), ...all.filter(({ kind }) => kind === 'Job')].every(
        ({ spec }) =>
          spec.template.spec.automountServiceAccountToken === false &&
          spec.template.spec.securityContext.runAsNonRoot === true &&
          spec.template.spec.containers[0].securityContext.readOnlyRootFilesystem === true,
      ),
  },
  'as it is: the owner of a database is known to its migrate job alone, and that job knows nothing else': {
    given: {},
    seen: (all) =>
      deployed(all).every((one) => !has(one, 'OWNER_URL') && !has(one, 'owner-url')) &&
      has(find(all, 'Job', 'x-daemon-migrate'), 'owner-url') &&
      !has(find(all, 'Job', 'x-daemon-migrate'), 'sealing-keys'),
  },
  'as it is: a secret is a file, and no environment has one': {
    given: {},
    seen: (all) =>
      deployed(all).every(({ spec }) => !has(spec.template.spec.containers, 'secretKeyRef')) &&
      container(all).env.some(
        ({ name, value }: Record<string, string>) =>
          name === 'LOCI_SEALING_KEYS_FILE' && value === '/run/loci/LOCI_SEALING_KEYS',
      ),
  },
  'as it is: probes ask the routes for it, and it has the time that a drain takes': {
    given: {},
    seen: (all) =>
      container(all).livenessProbe.httpGet.path === '/health/live' &&
      container(all).readinessProbe.httpGet.path === '/health/ready' &&
      container(all).startupProbe.httpGet.path === '/health/startup' &&
      pod(all).spec.terminationGracePeriodSeconds === 28,
  },
  'management.enabled': {
    given: { 'management.enabled': false },
    seen: (all) => deployed(all).length === 1 && !pod(all, 'management'),
  },
  'daemon.enabled': { given: { 'daemon.enabled': false }, seen: (all) => deployed(all).length === 1 && !pod(all) },
  'image.tag': {
    given: { 'image.tag': '9.9.9' },
    seen: (all) => container(all)?.image === 'ghcr.io/locihq/loci:9.9.9',
  },
  'image.repository': {
    given: { 'image.repository': 'own/loci' },
    seen: (all) => container(all)?.image === 'own/loci:0.1.0',
  },
  'image.digest': {
    given: { 'image.digest': `sha256:${'a'.repeat(64)}` },
    seen: (all) => container(all)?.image === `ghcr.io/locihq/loci@sha256:${'a'.repeat(64)}`,
  },
  'image.pullPolicy': {
    given: { 'image.pullPolicy': 'Always' },
    seen: (all) => container(all)?.imagePullPolicy === 'Always',
  },
  'image.pullSecrets': {
    given: { 'image.pullSecrets': [{ name: 'p' }] },
    seen: (all) => pod(all)?.spec.imagePullSecrets?.[0].name === 'p',
  },
  replicas: {
    given: { 'daemon.replicas': 5 },
    seen: (all) => find(all, 'Deployment', 'x-daemon')?.spec.replicas === 5,
  },
  'settings.LOCI_LOG_LEVEL': {
    given: { 'daemon.settings.LOCI_LOG_LEVEL': 'debug' },
    seen: (all) => has(container(all)?.env, '{"name":"LOCI_LOG_LEVEL","value":"debug"}'),
  },
  'settings.LOCI_DRAIN_MS': {
    given: { 'daemon.settings.LOCI_DRAIN_MS': 60_000 },
    seen: (all) => pod(all)?.spec.terminationGracePeriodSeconds === 73 && has(container(all)?.env, '"60000"'),
  },
  'settings.LOCI_REQUIRE_HTTPS': {
    given: { 'daemon.settings.LOCI_REQUIRE_HTTPS': 'true' },
    seen: (all) => container(all)?.readinessProbe.httpGet.httpHeaders?.[0].name === 'X-Forwarded-Proto',
  },
  'secrets.LOCI_DATABASE_CA': {
    given: { 'daemon.secrets.LOCI_DATABASE_CA': secret('authority', 'ca.crt') },
    seen: (all) => has(pod(all)?.spec.volumes, 'authority') && has(find(all, 'Job', 'x-daemon-migrate'), 'authority'),
  },
  'tls.existingSecret': {
    given: { 'daemon.tls.existingSecret': 'daemon-tls' },
    seen: (all) =>
      container(all)?.readinessProbe.httpGet.scheme === 'HTTPS' &&
      has(container(all)?.env, '/run/loci-tls/tls.key') &&
      has(pod(all)?.spec.volumes, 'daemon-tls') &&
      find(all, 'Service', 'x-daemon')?.spec.ports[0].name === 'https',
  },
  resources: {
    given: { 'daemon.resources': { limits: { memory: '3Gi' } } },
    seen: (all) => container(all)?.resources.limits.memory === '3Gi',
  },
  podAnnotations: {
    given: { 'daemon.podAnnotations': { a: 'b' } },
    seen: (all) => pod(all)?.metadata.annotations?.a === 'b',
  },
  podLabels: { given: { 'daemon.podLabels': { c: 'd' } }, seen: (all) => pod(all)?.metadata.labels.c === 'd' },
  nodeSelector: {
    given: { 'daemon.nodeSelector': { disk: 'ssd' } },
    seen: (all) => pod(all)?.spec.nodeSelector?.disk === 'ssd',
  },
  tolerations: {
    given: { 'daemon.tolerations': [{ key: 't' }] },
    seen: (all) => pod(all)?.spec.tolerations?.[0].key === 't',
  },
  affinity: {
    given: { 'daemon.affinity': { nodeAffinity: {} } },
    seen: (all) => pod(all)?.spec.affinity?.nodeAffinity !== undefined,
  },
  priorityClassName: {
    given: { 'daemon.priorityClassName': 'high' },
    seen: (all) => pod(all)?.spec.priorityClassName === 'high',
  },
  'pdb.enabled': {
    given: { 'daemon.pdb.enabled': false },
    seen: (all) => !find(all, 'PodDisruptionBudget', 'x-daemon'),
  },
  'pdb.minAvailable': {
    given: { 'daemon.pdb.minAvailable': 2 },
    seen: (all) => find(all, 'PodDisruptionBudget', 'x-daemon')?.spec.minAvailable === 2,
  },
  'pdb of one replica': {
    given: { 'daemon.replicas': 1 },
    seen: (all) => !find(all, 'PodDisruptionBudget', 'x-daemon'),
  },
  hpa: {
    given: { 'daemon.hpa': { enabled: true, minReplicas: 3, maxReplicas: 9, cpuPercent: 55 } },
    seen: (all) => {
      const hpa = find(all, 'HorizontalPodAutoscaler', 'x-daemon')?.spec
      return (
        hpa?.minReplicas === 3 &&
        hpa.maxReplicas === 9 &&
        hpa.metrics[0].resource.target.averageUtilization === 55 &&
        find(all, 'Deployment', 'x-daemon')?.spec.replicas === undefined
      )
    },
  },
  service: {
    given: { 'daemon.service': { type: 'LoadBalancer', annotations: { e: 'f' } } },
    seen: (all) => {
      const service = find(all, 'Service', 'x-daemon')
      return service?.spec.type === 'LoadBalancer' && service.metadata.annotations?.e === 'f'
    },
  },
  ingress: {
    given: {
      'daemon.ingress': {
        enabled: true,
        className: 'nginx',
        host: 'cell-1.loci.example',
        tlsSecret: 's',
        annotations: { g: 'h' },
      },
    },
    seen: (all) => {
      const ingress = find(all, 'Ingress', 'x-daemon')
      return (
        ingress?.spec.ingressClassName === 'nginx' &&
        ingress.spec.rules[0].host === 'cell-1.loci.example' &&
        ingress.spec.tls[0].secretName === 's' &&
        ingress.metadata.annotations?.g === 'h'
      )
    },
  },
  httpRoute: {
    given: {
      'daemon.httpRoute': {
        enabled: true,
        parentRefs: [{ name: 'gateway' }],
        hostnames: ['cell-1.loci.example'],
        annotations: {},
      },
    },
    seen: (all) => {
      const route = find(all, 'HTTPRoute', 'x-daemon')?.spec
      return (
        route?.parentRefs[0].name === 'gateway' &&
        route.hostnames[0] === 'cell-1.loci.example' &&
        route.rules[0].backendRefs[0].port === 4410
      )
    },
  },
  'migrate.enabled': { given: { 'migrate.enabled': false }, seen: (all) => all.every(({ kind }) => kind !== 'Job') },
  'migrate.deadlineSeconds': {
    given: { 'migrate.deadlineSeconds': 77 },
    seen: (all) => find(all, 'Job', 'x-daemon-migrate')?.spec.activeDeadlineSeconds === 77,
  },
  'migrate.resources': {
    given: { 'migrate.resources': { limits: { memory: '99Mi' } } },
    seen: (all) => has(find(all, 'Job', 'x-daemon-migrate'), '99Mi'),
  },
  'networkPolicy.enabled': {
    given: { 'networkPolicy.enabled': false },
    seen: (all) => all.every(({ kind }) => kind !== 'NetworkPolicy'),
  },
  'networkPolicy.from': {
    given: { 'networkPolicy.from': [{ namespaceSelector: { matchLabels: { role: 'ingress' } } }] },
    seen: (all) => has(find(all, 'NetworkPolicy', 'x-daemon'), '"role":"ingress"'),
  },
  serviceMonitor: {
    given: { serviceMonitor: { enabled: true, interval: '7s', labels: { i: 'j' } } },
    seen: (all) => {
      const monitor = find(all, 'ServiceMonitor', 'x-daemon')
      return (
        monitor?.spec.endpoints[0].interval === '7s' &&
        monitor.metadata.labels?.i === 'j' &&
        has(monitor, '"replacement":"loci-daemon"')
      )
    },
  },
  prometheusRule: {
    given: { prometheusRule: { enabled: true, labels: { k: 'l' } } },
    seen: (all) => {
      const rule = find(all, 'PrometheusRule', 'x-loci')
      return has(rule, 'LociGone') && has(rule, '{{ $labels.instance }}') && rule?.metadata.labels?.k === 'l'
    },
  },
  test: {
    given: { test: { existingSecret: 'key', key: 'k', url: 'https://loci.example' } },
    seen: (all) => {
      const test = find(all, 'Pod', 'x-memory-test')
      return (
        test?.metadata.annotations?.['helm.sh/hook'] === 'test' &&
        has(test, 'loci memory recall') &&
        !has(test, 'secretKeyRef')
      )
    },
  },
  cloudnativepg: {
    given: {
      cloudnativepg: {
        enabled: true,
        instances: 3,
        image: 'pg:18',
        rolesConfigMap: 'roles',
        storage: { size: '9Gi', class: 'fast' },
      },
    },
    seen: (all) => {
      const cluster = find(all, 'Cluster', 'x-daemon-db')?.spec
      return (
        cluster?.postgresql.synchronous.dataDurability === 'required' &&
        cluster.bootstrap.initdb.dataChecksums === true &&
        cluster.storage.storageClass === 'fast' &&
        has(cluster, 'daemon.sql')
      )
    },
  },
}

export const REFUSED: Record<string, { given: Record<string, unknown>; why: RegExp }> = {
  'a misspelt value': { given: { 'daemon.replica': 3 }, why: /replica/ },
  'a misspelt setting': { given: { 'daemon.settings.LOCI_LOGLEVEL': 'debug' }, why: /LOCI_LOGLEVEL/ },
  'a setting of the other program': { given: { 'management.settings.LOCI_CELL_ID': 'cell_1' }, why: /LOCI_CELL_ID/ },
  'a secret among the settings': {
    given: { 'daemon.settings.LOCI_DATABASE_URL': 'postgres://a:b@c/d' },
    why: /LOCI_DATABASE_URL/,
  },
  'the value of a secret': { given: { 'daemon.secrets.LOCI_SEALING_KEYS': 'k:AAAA' }, why: /LOCI_SEALING_KEYS/ },
  'requests that arrive nobody knows how': {
    given: { 'daemon.settings': { LOCI_MANAGEMENT_URL: 'https://loci.example' } },
    why: /how do requests arrive/,
  },
  'a digest that is none': { given: { 'image.digest': 'latest' }, why: /digest/ },
  'an Ingress without a host': { given: { 'daemon.ingress.enabled': true }, why: /under which name/ },
  'a test without an address': { given: { 'test.existingSecret': 'key' }, why: /test\.url/ },
}
