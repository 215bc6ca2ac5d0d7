// What the adapters of every language have in common: a service of their own, and a row of the table.

export interface Count {
  passed: number
  failed: number
}

export interface Row extends Count {
  framework: string
  version: string
  /** `Python 3.14.1`, `Node 24.21.0`. */
  runtime: string
}

export interface Served {
  /** LOCI_URL, LOCI_API_KEY, LOCI_SERVICE. */
  env: { [name: string]: string }
}

export function tableOf(rows: Row[]): string[] {
  const lines = rows.map(({ framework, version, runtime, passed, failed }) => [
    framework,
    version,
    runtime,
    failed === 0 ? String(passed) : `${passed}, ${failed} FAILED`,
  ])
  const all = [['framework', 'version', 'runtime', 'passed'], ...lines]
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((line) => line[column]?.length ?? 0)))
  return all.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
