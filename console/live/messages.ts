// What tabs and the hub tell each other, all of them on one channel of the browser. Names and numbers, no content.

import type { ServiceEvent } from '@loci/sdk/events.ts'

/** Of another number is another language: a page of a newer release does not talk to an older hub. */
export const CHANNEL = 'loci-live-1'

export type Kind = 'organization' | 'service'

/**
 * opening: it was asked for.
 * open: it stands.
 * lost: it broke, and is asked for again.
 * refused: whoever answers does not give it; it is asked for again from time to time.
 * paused: nobody looks at a page.
 * elsewhere: two streams are enough for a browser; this one is not among them.
 */
export type StreamIs = 'opening' | 'open' | 'lost' | 'refused' | 'paused' | 'elsewhere'

export interface StreamState {
  kind: Kind
  /** The id of the organization or the service. */
  of: string
  is: StreamIs
  /** When that began. */
  since: number
  /** From where it would go on; what came before it is known to who follows. */
  position: string | undefined
  /** Where it is refused: by what. */
  refusal: Refusal | undefined
}

export interface Refusal {
  code: string
  message: string
  status: number
  requestId: string | undefined
}

export interface Happened extends Pick<ServiceEvent, 'id' | 'type' | 'seq' | 'at' | 'database' | 'domain' | 'subject'> {
  data: { [field: string]: unknown }
}

/** Of a page: what it is about, and whether somebody looks. */
export interface View {
  organization: string
  service: string | null
  isVisible: boolean
}

export type FromTab =
  | { say: 'view'; tab: string; view: View; isInFront: boolean }
  | { say: 'gone'; tab: string }
  /** The events of a service again, from behind this one. */
  | { say: 'back'; tab: string; of: string; from: number }

export type FromHub =
  /** It has just begun, and knows of no tab. */
  | { say: 'who' }
  /** `isAnew`: it begins now, so what happened before is not known. */
  | { say: 'stream'; state: StreamState; isAnew: boolean }
  /** `isGap`: what happened between the last one and this one is no longer kept. */
  | { say: 'event'; kind: Kind; of: string; event: Happened; isGap: boolean }
