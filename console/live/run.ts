// Runs the hub, one at a time in a browser: who comes second, such as the worker of a newer release, waits until the
// first has ended.

import { HEADER } from '@loci/contract/headers.ts'
import { connectManagement } from '@loci/sdk/client.ts'
import { refreshed } from '../api/refresh.ts'
import { createHub } from './hub.ts'
import { CHANNEL, type FromHub, type FromTab } from './messages.ts'

export async function runHub(): Promise<void> {
  if (!('locks' in navigator)) return begin()
  await navigator.locks.request(CHANNEL, () => {
    begin()
    // Held for as long as the worker or the tab lives.
    return new Promise(() => {})
  })
}

function begin(): void {
  const channel = new BroadcastChannel(CHANNEL)
  const hub = createHub({
    say: (message: FromHub) => channel.postMessage(message),
    connect: (organization) =>
      connectManagement({
        url: location.origin,
        headers: () => ({ [HEADER.organization]: organization }),
        renew: refreshed,
      }),
  })
  channel.onmessage = ({ data }: MessageEvent<FromTab | FromHub>) => {
    if (data.say === 'view' || data.say === 'gone' || data.say === 'back') hub.hear(data)
  }
}
