// The public keys of capabilities, as a JSON Web Key Set (RFC 7517), for verifiers other than our cells.

import { z } from 'zod'

export const capabilityKeys = z
  .object({
    keys: z.array(
      z.object({
        kty: z.literal('OKP'),
        crv: z.literal('Ed25519'),
        x: z.string(),
        kid: z.string(),
        alg: z.literal('EdDSA'),
        use: z.literal('sig'),
      }),
    ),
  })
  .meta({ id: 'CapabilityKeys' })
