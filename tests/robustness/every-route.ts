// Everything that writes, again and again, in an order that a seed decides.

import type { ProgramName } from '../world/process.ts'
import { plainClient } from './plain-client.ts'
import { seeded } from './seeded.ts'
import { type MakeRequest, WRITING, type Writers } from './writing-routes.ts'
import { WRITING_SIGN_IN } from './writing-sign-in.ts'

/** They need a browser or a payment provider, end or fail a service, or are signed for one address alone. */
const LEFT_OUT = [
  ...Object.keys(WRITING_SIGN_IN),
  'POST /admin/services/disable',
  'POST /api/v1/cells',
  'POST /api/v1/services/{id}/retry',
  'POST /api/v1/services/{id}/move',
  'POST /api/v1/services/{id}/suspend',
  'POST /api/v1/services/{id}/resume',
  'DELETE /api/v1/oauth-grants/{id}',
  'POST /api/webhooks/billing',
  'POST /api/v1/tenants/{id}/billing/ordering/reset',
  'POST /cell/v1/reports',
]

export interface EveryRoute {
  /** Routes that are asked. */
  count: number
  asked(): number
  /** Requests that were not done, but for those that a slow machine refused. */
  wrong: string[]
  stop(): Promise<void>
}

/** `isBusy` fits what a machine that is slow says; a program is asked what its document names when this begins. */
export async function askEveryRoute(writers: Writers, seed: number, isBusy: RegExp): Promise<EveryRoute> {
  const { world } = writers
  const known = {
    daemon: await linesOf(world.daemons[0]?.url as string),
    management: await linesOf(world.management?.url as string),
  }
  const random = seeded(seed)
  const list = (['daemon', 'management'] as const).flatMap((program) =>
    Object.entries(WRITING[program])
      .filter(([line]) => !LEFT_OUT.includes(line) && known[program].has(line))
      .map(([line, make]): [ProgramName, string, MakeRequest] => [program, line, make]),
  )
  const client = plainClient()
  const wrong: string[] = []
  let asked = 0
  let isOver = false

  async function ask(program: ProgramName, make: MakeRequest): Promise<string | undefined> {
    const url = program === 'daemon' ? world.daemons[0]?.url : world.management?.url
    const outcome = await client.send(url as string, await make(writers))
    if (outcome.kind !== 'answer') return outcome.kind
    const { status, body } = outcome
    return status < 400 ? undefined : `${status} ${body.slice(0, 200)}`
  }

  async function run(): Promise<void> {
    for (let order = [...list]; !isOver; order = order.length > 0 ? order : [...list]) {
      const [program, line, make] = order.splice(random.below(order.length), 1)[0] as (typeof list)[number]
      const told = await ask(program, make).catch((error: Error) => error.message.slice(0, 300))
      if (told !== undefined && !isBusy.test(told)) wrong.push(`${line}: ${told}`)
      asked += 1
    }
    client.close()
  }

  const running = run()
  return {
    count: list.length,
    asked: () => asked,
    wrong,
    async stop() {
      isOver = true
      await running
    },
  }
}

async function linesOf(url: string): Promise<Set<string>> {
  const answer = await fetch(`${url}/openapi.json`)
  const { paths } = (await answer.json()) as { paths: Record<string, object> }
  return new Set(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    ),
  )
}
