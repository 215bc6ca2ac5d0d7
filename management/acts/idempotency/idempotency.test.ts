import { anotherSealingKey, idempotencySuite } from '@loci/acts/testing/idempotency-suite.ts'
import { ask } from '@loci/chassis/testing/request.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { testManagement } from '../../testing/management.ts'

idempotencySuite(async () => {
  const management = await testManagement({ settings: { databaseStatementMs: 1_750 } })
  const settings = { sealingKeys: [anotherSealingKey(), ...management.settings.sealingKeys] }
  const rotated = await testManagement({ replicaOf: management, settings })
  const [own, other] = [await management.organization(), await management.organization()]
  const colleague = await management.member(own, 'admin')
  const callers = { 'another caller': colleague, 'another owner': other }
  return {
    adminUrl: management.database.adminUrl,
    table: 'loci.tenants',
    send({ subject, headers, isOther, as, atRotated }) {
      const { apiKey } = as ? callers[as] : own
      return ask((atRotated ? rotated : management).url, 'POST /api/v1/tenants', {
        body: { name: subject, ...(isOther ? { slug: `other-${subject}` } : {}) },
        headers: { ...headers, [HEADER.apiKey]: apiKey },
      })
    },
    async effects(subject) {
      return (await management.sql('select from loci.tenants where name = $1', [subject])).length
    },
    async [Symbol.asyncDispose]() {
      await rotated[Symbol.asyncDispose]()
      await management[Symbol.asyncDispose]()
    },
  }
})
