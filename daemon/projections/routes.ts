import { ApiError } from '@loci/chassis/api-error.ts'
import { parseBySchema } from '@loci/chassis/input.ts'
import { type Call, type Route, route } from '@loci/chassis/route.ts'
import { createTurn } from '@loci/chassis/turn.ts'
import {
  PROJECTIONS_MAX,
  type Projection,
  projection,
  projectionBody,
  projectionIngest,
  projectionResults,
} from '@loci/contract/projections.ts'
import type { PartnerAccess, PartnerCaller } from '../access/partner.ts'
import { atIndex, type Ingest } from './ingest.ts'

interface ProjectionOptions {
  access: { partner: PartnerAccess }
  ingest: Ingest
  /** The path segment of the partner. */
  partnerName: string
}

const ARRAY_BYTES_MAX = 4 * 1024 * 1024
const SINGLE_BYTES_MAX = 1024 * 1024

export function projectionRoutes({ access, ingest, partnerName }: ProjectionOptions): Route[] {
  return [
    route(
      {
        tag: 'projections',
        subservice: 'projections',
        method: 'POST',
        path: `/v1/${partnerName}/projections`,
        access: access.partner('projections'),
        summary: 'Ingest one event of a partner, or up to 500.',
        details: 'It is durable before the answer. The same again is answered with the first one’s id.',
        body: projectionBody,
        documentedBody: projectionIngest,
        bodyBytesMax: ARRAY_BYTES_MAX,
        ignoresUnknownNames: true,
        answers: { 200: projectionResults },
        errors: ['PROJECTION_CONFLICT', 'QUOTA_EXCEEDED', 'INVALID_STATE', 'DATA_DAMAGED'],
      },
      async (call) => {
        const { caller } = call
        const isArray = Array.isArray(call.body)
        const sent = isArray ? await envelopesOf(call.body as unknown[]) : [envelopeOf(call)]
        const told = await ingest.tell(caller, {
          ...{ projections: sent, isArray },
          require: (one) => caller.requireClass(one.projection_class),
        })
        const { instance, database } = caller
        const lociNamespace = [instance.organizationId, instance.tenantId, instance.id, database].join('/')
        const results = told.map(({ id, seq, isDuplicate }, at) => ({
          accepted: true,
          projectionId: id,
          projectionClass: sent[at]?.projection_class,
          sourceEventId: sent[at]?.source_event_id,
          lociNamespace,
          appliedSeq: seq,
          duplicate: isDuplicate,
        }))
        return isArray ? results : results[0]
      },
    ),
  ]
}

type IngestCall = Call<PartnerCaller, unknown, unknown, unknown>

function envelopeOf({ body, bodyBytes }: IngestCall): Projection {
  if (bodyBytes > SINGLE_BYTES_MAX)
    throw new ApiError('PAYLOAD_TOO_LARGE', `A single projection may have at most ${SINGLE_BYTES_MAX} bytes.`)
  return parseBySchema(projection, body, 'body')
}

async function envelopesOf(body: unknown[]): Promise<Projection[]> {
  if (body.length === 0 || body.length > PROJECTIONS_MAX)
    throw new ApiError('VALIDATION_ERROR', `An array has 1 to ${PROJECTIONS_MAX} projections.`)
  const turn = createTurn()
  const envelopes: Projection[] = []
  for (const [index, one] of body.entries()) {
    await turn()
    envelopes.push(atIndex(index, () => parseBySchema(projection, one, `body.${index}`)))
  }
  return envelopes
}
