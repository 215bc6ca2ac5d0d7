// deploy/chart by the real helm: every value reaches what it is for, a misspelt one is refused, no secret's value has a
// place. With KUBECONFIG of an API server that is nobody's it is also installed, upgraded and rolled back there.

import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import { CASES, type Manifest, MINIMUM, REFUSED } from '../robustness/chart-cases.ts'
import { type Report, reportOn } from '../world/report.ts'

const CHART = fileURLToPath(new URL('../../deploy/chart', import.meta.url))
/** Without a server helm takes one that is years old. */
const VERSION = ['--kube-version', '1.36.0']
const NAMESPACE = 'loci-chart-test'

await reportOn(async (report) => {
  if (spawnSync('helm', ['version']).status !== 0) return report.skip('everything', 'no helm is here')
  const lint = helm(['lint', CHART, ...VERSION, ...values(MINIMUM)])
  report.promise(
    'helm lint has nothing to say',
    lint.status === 0 && !/WARNING|ERROR/.test(lint.text),
    lastOf(lint.text),
  )
  rendered(report)
  refused(report)
  applied(report)
})

function helm(args: string[]) {
  const { status, stdout, stderr } = spawnSync('helm', args, { encoding: 'utf8', maxBuffer: 1024 ** 3 })
  return { status, stdout, text: `${stdout}${stderr}`.trim() }
}

/** Each path becomes a `--set-json`. */
function values(given: Record<string, unknown>): string[] {
  return Object.entries(given).flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`])
}

function render(given: Record<string, unknown>): { problem: string | undefined; manifests: Manifest[] } {
  const { status, stdout, text } = helm(['template', 'x', CHART, ...VERSION, ...values(MINIMUM), ...values(given)])
  if (status !== 0) return { problem: text, manifests: [] }
  return { problem: undefined, manifests: parseAllDocuments(stdout).flatMap((one) => (one.toJS() as Manifest) ?? []) }
}

function rendered(report: Report): void {
  const usual = render({})
  const wrong: string[] = usual.problem === undefined ? [] : [usual.problem]
  const blind: string[] = []
  for (const [name, { given, seen }] of Object.entries(CASES)) {
    const { problem, manifests } = render(given)
    if (problem !== undefined || !seen(manifests)) wrong.push(`${name}: ${problem ?? 'not seen'}`)
    // The same look at a chart that has it the other way round.
    if (Object.keys(given).length > 0 && seen(usual.manifests)) blind.push(name)
  }
  report.promise(
    'every value reaches what it is for',
    wrong.length === 0,
    wrong.slice(0, 5).join('; ') ||
      `${Object.keys(CASES).length} values, ${usual.manifests.length} manifests without them`,
  )
  report.mutant('values that nobody reads', blind.length === 0 ? 'none is seen without being given' : undefined)
  if (blind.length > 0) report.note(`seen although not given: ${blind.join(', ')}`)
}

function refused(report: Report): void {
  const taken = Object.entries(REFUSED).flatMap(([name, { given, why }]) => {
    const { problem } = render(given)
    return problem !== undefined && why.test(problem) ? [] : [`${name}: ${problem ?? 'taken'}`]
  })
  report.promise(
    'what is misspelt, undecided, or would show a secret is refused with its reason',
    taken.length === 0,
    taken.join('; ') || Object.keys(REFUSED).join(', '),
  )
}

/** A real API server; no program runs there. */
function applied(report: Report): void {
  const server = process.env.LOCI_TEST_KUBECONFIG
  if (server === undefined) {
    report.skip('a real API server', 'LOCI_TEST_KUBECONFIG names none')
    return
  }
  const on = ['--kubeconfig', server, '--namespace', NAMESPACE]
  const kubectl = (args: string[], input = '') => {
    const { status, stdout, stderr } = spawnSync('kubectl', [...on, ...args], { encoding: 'utf8', input })
    return { status, text: `${stdout}${stderr}`.trim() }
  }
  kubectl(['create', 'namespace', NAMESPACE])
  try {
    const template = helm(['template', 'x', CHART, ...VERSION, ...values(MINIMUM)])
    const dry = kubectl(['apply', '--dry-run=server', '-f', '-'], template.stdout)
    report.promise(
      'kubectl apply --dry-run=server is clean',
      dry.status === 0 && !/warning/i.test(dry.text),
      dry.status === 0 ? `${dry.text.split('\n').length} objects` : dry.text.slice(0, 400),
    )
    const own = [...on, '--wait', '--timeout', '120s']
    const steps = [
      helm(['install', 'x', CHART, ...own, ...values(MINIMUM)]),
      helm(['upgrade', 'x', CHART, ...own, ...values(MINIMUM), ...values({ 'daemon.replicas': 3 })]),
      helm(['rollback', 'x', '1', ...own]),
    ]
    const replicas = kubectl([
      'get',
      'deployment',
      'x-daemon',
      '-o',
      'jsonpath={.spec.replicas}/{.status.readyReplicas}',
    ])
    report.promise(
      'install, upgrade and rollback on a real API server',
      steps.every(({ status }) => status === 0) && replicas.text === '2/2',
      steps.find(({ status }) => status !== 0)?.text.slice(0, 400) ?? `replicas after the rollback ${replicas.text}`,
    )
  } finally {
    helm(['uninstall', 'x', ...on])
    kubectl(['delete', 'namespace', NAMESPACE, '--wait=false'])
  }
}

function lastOf(text: string): string {
  return path.basename(text.split('\n').at(-1) ?? '')
}
