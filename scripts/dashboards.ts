// The dashboards of deploy/grafana; scripts/documents.ts writes the files. A panel is one entry here: what it shows,
// which values are good, and the expressions.

interface Panel {
  title: string
  /** Says which values are good, and what to do about others. */
  says: string
  /** By legend: the expression. */
  of: { [legend: string]: string }
  unit: 'reqps' | 's' | 'percentunit' | 'short' | 'bytes' | 'cps'
  /** One number in a color instead of a line; from where on it is bad. */
  badFrom?: number
}

interface Board {
  uid: string
  title: string
  panels: Panel[]
}

const REPLICA = 'job=~"$job",instance=~"$instance"'
const REQUESTS = 'loci_http_request_duration_seconds'
const REPLICAS = '{{instance}}'

const OVERVIEW: Board = {
  uid: 'loci-overview',
  title: 'loci: does it serve',
  panels: [
    {
      title: 'Failed answers, 1 h',
      says: 'Of the budget of a month, 0.1 %. Above 1.44 % somebody is woken.',
      of: { '{{job}}': 'loci:failed_answers:ratio_rate1h' },
      unit: 'percentunit',
      badFrom: 0.001,
    },
    {
      title: 'Recalls over 250 ms, 1 h',
      says: 'Of the budget of a month, 1 %.',
      of: { '{{job}}': 'loci:slow_recalls:ratio_rate1h' },
      unit: 'percentunit',
      badFrom: 0.01,
    },
    {
      title: 'Replicas that do not serve',
      says: 'Away, or not ready. A drain is one, too.',
      of: { away: 'sum(up{job=~"loci-.*"} == bool 0)', 'not ready': 'sum(loci_ready == bool 0)' },
      unit: 'short',
      badFrom: 1,
    },
    {
      title: 'Alerts',
      says: 'docs/operations/alerts.md says what to do.',
      of: { '{{alertname}}': 'sum by (alertname) (ALERTS{alertstate="firing",alertname=~"Loci.*"})' },
      unit: 'short',
      badFrom: 1,
    },
    { title: 'Requests', says: 'Everything, probes too.', of: { '{{job}}': 'loci:requests:rate5m' }, unit: 'reqps' },
    {
      title: 'Answers that fail',
      says: '5xx. The code in the request lines says which.',
      of: { '{{job}} {{route}}': `topk(8, sum by (job, route) (rate(${REQUESTS}_count{code="5xx"}[5m])))` },
      unit: 'reqps',
    },
    {
      title: '99 of 100 answers within',
      says: 'Of the API; with one slow route look at the board of a daemon.',
      of: { '{{job}}': 'loci:request_duration_seconds:p99_rate5m' },
      unit: 's',
    },
    {
      title: 'Budget that burns',
      says: 'Failed answers, in windows of five minutes, six hours and three days.',
      of: {
        '{{job}} 5 m': 'loci:failed_answers:ratio_rate5m',
        '{{job}} 6 h': 'loci:failed_answers:ratio_rate6h',
        '{{job}} 3 d': 'loci:failed_answers:ratio_rate3d',
      },
      unit: 'percentunit',
    },
    {
      title: 'Trouble with PostgreSQL',
      says: 'docs/operations/postgresql.md, by kind.',
      of: { '{{instance}} {{kind}}': 'sum by (instance, kind) (rate(loci_postgres_failures_total[5m])) > 0' },
      unit: 'cps',
    },
    {
      title: 'Oldest snapshot',
      says: 'Above 300 s and 10,000 transactions rows that are written often get slow.',
      of: { [REPLICAS]: 'loci_postgres_oldest_snapshot_seconds' },
      unit: 's',
    },
    {
      title: 'Versions',
      says: 'Two of them while an upgrade rolls.',
      of: { '{{job}} {{version}}': 'count by (job, version) (loci_build_info)' },
      unit: 'short',
    },
  ],
}

const REPLICA_PANELS: Panel[] = [
  {
    title: 'Requests by route',
    says: 'The eight with most.',
    of: { '{{method}} {{route}}': `topk(8, sum by (method, route) (rate(${REQUESTS}_count{${REPLICA}}[5m])))` },
    unit: 'reqps',
  },
  {
    title: '99 of 100 within, by route',
    says: 'The eight slowest.',
    of: {
      '{{route}}': `topk(8, histogram_quantile(0.99, sum by (route, le) (rate(${REQUESTS}_bucket{${REPLICA}}[5m]))))`,
    },
    unit: 's',
  },
  {
    title: 'Slots taken, and who waits',
    says: 'Waiting for minutes: one replica more, while PostgreSQL has room.',
    of: {
      '{{instance}} taken': `loci_slots_taken{${REPLICA}}`,
      '{{instance}} waiting': `loci_requests_waiting{${REPLICA}}`,
      '{{instance}} wait for a connection': `loci_database_connections_waiting{${REPLICA}}`,
    },
    unit: 'short',
  },
  {
    title: 'Event loop, 99 of 100 turns within',
    says: 'Above 0.1 s for minutes: a neighbour that takes the processor, or a profile.',
    of: { [REPLICAS]: `loci_nodejs_eventloop_lag_p99_seconds{${REPLICA}}` },
    unit: 's',
  },
  {
    title: 'Processor',
    says: 'Cores, and the part of it that was used for somebody who is charged.',
    of: {
      [REPLICAS]: `rate(loci_process_cpu_seconds_total{${REPLICA}}[5m])`,
      '{{instance}} metered': `loci_metered_ratio{${REPLICA}}`,
    },
    unit: 'short',
  },
  {
    title: 'Memory',
    says: 'Of the process, and the heap in it.',
    of: {
      [REPLICAS]: `loci_process_resident_memory_bytes{${REPLICA}}`,
      '{{instance}} heap': `loci_nodejs_heap_size_used_bytes{${REPLICA}}`,
    },
    unit: 'bytes',
  },
  {
    title: 'Event streams',
    says: 'Open ones.',
    of: { [REPLICAS]: `loci_event_streams{${REPLICA}}` },
    unit: 'short',
  },
  {
    title: 'Open files',
    says: 'Of those that it may have.',
    of: { [REPLICAS]: `loci_process_open_fds{${REPLICA}} / loci_process_max_fds{${REPLICA}}` },
    unit: 'percentunit',
  },
]

const DAEMON: Board = {
  uid: 'loci-daemon',
  title: 'loci: a daemon',
  panels: [
    ...REPLICA_PANELS,
    {
      title: 'Revocations are as old as',
      says: 'About 0.3 s. Above 3 s it refuses with AUTHORITY_STALE.',
      of: { [REPLICAS]: `loci_authority_age_seconds{${REPLICA}}` },
      unit: 's',
    },
    {
      title: 'Texts that wait for the encoder',
      says: 'Until they are read recall goes by their words. Nothing here where no encoder is on.',
      of: {
        [REPLICAS]: `loci_encoder_waiting{${REPLICA}}`,
        '{{instance}} oldest': `loci_encoder_lag_seconds{${REPLICA}}`,
      },
      unit: 'short',
    },
  ],
}

const MANAGEMENT: Board = {
  uid: 'loci-management',
  title: 'loci: management',
  panels: [
    {
      title: 'Services whose next step is late',
      says: 'And how late the oldest is. docs/operations/what-to-do-when.md, "Follow one service".',
      of: {
        '{{instance}} services': `loci_provisioning_overdue{${REPLICA}}`,
        '{{instance}} seconds': `loci_provisioning_overdue_seconds{${REPLICA}}`,
      },
      unit: 'short',
    },
    {
      title: 'What an honest cell does not send',
      says: 'By kind. Somebody may use the key of a cell.',
      of: { '{{kind}}': `sum by (kind) (increase(loci_cell_alarms_total{${REPLICA}}[1h]))` },
      unit: 'short',
    },
    {
      title: 'Sessions that ended early',
      says: 'docs/operations/sign-in.md, "Reasons". handle_replayed: a copy of a cookie.',
      of: { '{{reason}}': `sum by (reason) (increase(loci_sessions_ended_total{${REPLICA}}[1h]))` },
      unit: 'short',
    },
    {
      title: 'Events of payment that were ignored',
      says: 'Their order is not known. docs/operations/billing.md.',
      of: { [REPLICAS]: `increase(loci_billing_unordered_total{${REPLICA}}[1h])` },
      unit: 'short',
    },
    {
      title: 'Streams of pages of the console',
      says: 'Open ones.',
      of: { [REPLICAS]: `loci_console_streams{${REPLICA}}` },
      unit: 'short',
    },
    ...REPLICA_PANELS,
  ],
}

const SOURCE = { type: 'prometheus', uid: '$source' }

/** By the name of its file, the text of each. */
export function dashboards(): Record<string, string> {
  const files = { overview: OVERVIEW, daemon: DAEMON, management: MANAGEMENT }
  return Object.fromEntries(
    Object.entries(files).map(([name, board]) => [
      `deploy/grafana/${name}.json`,
      `${JSON.stringify(boardOf(board, name), null, 2)}\n`,
    ]),
  )
}

function boardOf({ uid, title, panels }: Board, name: string): object {
  const job = name === 'overview' ? 'loci-.*' : `loci-${name}.*`
  let [x, y] = [0, 0]
  const placed = panels.map((panel, at) => {
    const [w, h] = panel.badFrom === undefined ? [12, 8] : [6, 4]
    if (x + w > 24) [x, y] = [0, y + 8]
    const gridPos = { x, y, w, h }
    x += w
    if (x === 24) [x, y] = [0, y + h]
    return panelOf(panel, at + 1, gridPos)
  })
  return {
    uid,
    title,
    tags: ['loci'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'source', label: 'Prometheus', type: 'datasource', query: 'prometheus' },
        variable('job', `label_values(loci_build_info{job=~"${job}"}, job)`),
        variable('instance', 'label_values(loci_build_info{job=~"$job"}, instance)'),
      ],
    },
    panels: placed,
  }
}

function variable(name: string, query: string): object {
  const all = { includeAll: true, multi: true, allValue: '.*', current: { text: 'All', value: '$__all' } }
  return { name, type: 'query', datasource: SOURCE, query: { query, refId: name }, refresh: 2, ...all }
}

function panelOf({ title, says, of, unit, badFrom }: Panel, id: number, gridPos: object): object {
  const steps = [{ color: 'green', value: null }, ...(badFrom === undefined ? [] : [{ color: 'red', value: badFrom }])]
  return {
    id,
    title,
    description: says,
    type: badFrom === undefined ? 'timeseries' : 'stat',
    gridPos,
    datasource: SOURCE,
    fieldConfig: { defaults: { unit, min: 0, thresholds: { mode: 'absolute', steps } }, overrides: [] },
    targets: Object.entries(of).map(([legendFormat, expr], at) => ({
      refId: String.fromCharCode(65 + at),
      datasource: SOURCE,
      expr,
      legendFormat,
    })),
  }
}
