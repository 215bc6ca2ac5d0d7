// A client that is no browser, with the cookie that somebody gave it.

import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { BrowserContext } from 'playwright-core'
import type { Report } from '../../world/report.ts'

/** What it is told goes in by standard input: the arguments of a process are for everybody to read. */
async function run(lines: string[]): Promise<string> {
  const child = spawn('curl', ['--silent', '--config', '-'], { stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.end(`${lines.join('\n')}\n`)
  return text(child.stdout)
}

export async function curl(report: Report, person: BrowserContext, publicUrl: string): Promise<void> {
  const { host, hostname, port } = new URL(publicUrl)
  const cookies = (await person.cookies(publicUrl)).map(({ name, value }) => `${name}=${value}`).join('; ')
  const ask = (path: string, more: string[] = [], cookie = cookies) =>
    run([
      ...[`url = "https://${host}${path}"`, 'insecure', `resolve = "${hostname}:${port}:127.0.0.1"`],
      ...[`cookie = "${cookie}"`, 'output = "/dev/null"', 'write-out = "%{http_code}"', ...more],
    ])
  const asked = {
    'its own page': await ask('/api/auth/token'),
    'a session': await ask('/api/auth/session'),
    services: await ask('/api/v1/services'),
    'another site': await ask('/api/auth/token', ['header = "Origin: https://evil.example"']),
    'no cookie': await ask('/api/auth/token', [], 'x=y'),
  }
  const figure = Object.entries(asked).map(([what, status]) => `${what} ${status}`)
  report.promise(
    'curl with a valid cookie works, and not when it says that another site sent it',
    Object.values(asked).join() === '200,200,200,403,401',
    figure.join(', '),
  )
}
