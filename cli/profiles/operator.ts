// What a service is configured with is for its operator alone: a capability for that is minted for the one call.

import { type Client, connectDaemon } from '@loci/sdk/client.ts'
import type { DaemonOperations } from '@loci/sdk/daemon.ts'
import type { Service } from '@loci/sdk/services.ts'

const TTL_SECONDS = 60

export async function asOperator(service: Service, database: string): Promise<Client<DaemonOperations>> {
  const { endpoint } = await service.known()
  const { token } = await service.createToken({
    name: 'loci config',
    ops: ['operator'],
    databases: ['*'],
    ttlSeconds: TTL_SECONDS,
  })
  return connectDaemon({ url: endpoint as string, capability: token, database })
}
