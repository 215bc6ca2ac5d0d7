// The worker thread of the index, which ends or hangs when it is asked to.

import { parentPort } from 'node:worker_threads'
import type { ToWorker } from '../index/worker.ts'

parentPort?.on('message', (message: ToWorker) => {
  if (message.kind !== 'search') return
  if (message.request.query === 'end') process.exit(3)
  if (message.request.query === 'hang') for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
})
await import('../index/worker.ts')
