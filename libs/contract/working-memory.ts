// Seed, "Working-memory resources". The slot's own fields come with its routes.

import { z } from 'zod'

export const slotList = z.looseObject({ slots: z.array(z.looseObject({})), count: z.int() }).meta({ id: 'SlotList' })

export const slotStatistics = z
  .looseObject({ slotCount: z.int(), capacity: z.int(), utilizationPct: z.number() })
  .meta({ id: 'SlotStatistics' })

/** Rounded to the nearest integer; 0 when capacity is 0 (seed, Statistics). */
export function utilizationPct(slotCount: number, capacity: number): number {
  return capacity === 0 ? 0 : Math.round((slotCount / capacity) * 100)
}
