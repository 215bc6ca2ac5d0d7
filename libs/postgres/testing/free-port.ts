// A port that stays free until somebody listens on it, and while a server that is started again does not listen.

import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Below the ports that the kernel gives to outgoing connections (from 32768 on Linux, from 49152 elsewhere). One of
 * those may be taken by anybody's connection between here and its use, or while the server that used it is down.
 */
const [LOWEST, BEHIND] = [15_000, 32_000]

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const port = randomInt(LOWEST, BEHIND)
    if (await isFree(port)) return port
  }
  throw new Error(`no free port between ${LOWEST} and ${BEHIND} on 127.0.0.1`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
