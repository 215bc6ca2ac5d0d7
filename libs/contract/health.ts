// Specification, "Health and information responses"; and the probes.

import { z } from 'zod'
import { timestamp } from './wire.ts'

export const healthResponse = z.object({ status: z.literal('ok') }).meta({ id: 'HealthResponse' })

export const readyResponse = z.object({ status: z.enum(['ok', 'degraded']) }).meta({ id: 'ReadyResponse' })

export const notReadyResponse = z.object({ status: z.enum(['starting', 'draining']) }).meta({ id: 'NotReadyResponse' })

export const startupResponse = z
  .object({ status: z.literal('ok'), services: z.record(z.string(), z.string()) })
  .meta({ id: 'StartupResponse' })

export const healthAllResponse = z
  .object({
    status: z.enum(['ok', 'degraded', 'starting', 'draining']),
    checks: z.record(
      z.string(),
      z.object({ status: z.string(), latencyMs: z.number().optional(), detail: z.string().optional() }),
    ),
    latencyMs: z.int(),
    timestamp,
  })
  .meta({ id: 'HealthAllResponse' })

const lifecycleState = z.enum([
  'starting',
  'migrating',
  'warming',
  'ready',
  'degraded',
  'draining',
  'stopped',
  'failed',
])

export const lifecycleStatus = z
  .object({
    state: lifecycleState,
    since: timestamp,
    acceptingRequests: z.boolean(),
    reasons: z.array(z.string()),
    transitions: z.array(
      z.object({ from: lifecycleState.nullable(), to: lifecycleState, at: timestamp, reason: z.string() }),
    ),
    drain: z.object({ deadline: timestamp.nullable(), inFlight: z.int() }),
  })
  .meta({ id: 'LifecycleStatus' })

/** Management's JSON is snake_case. */
export const managementLifecycleStatus = z
  .object({
    state: lifecycleState,
    since: timestamp,
    accepting_requests: z.boolean(),
    reasons: z.array(z.string()),
    transitions: z.array(
      z.object({ from: lifecycleState.nullable(), to: lifecycleState, at: timestamp, reason: z.string() }),
    ),
    drain: z.object({ deadline: timestamp.nullable(), in_flight: z.int() }),
  })
  .meta({ id: 'ManagementLifecycleStatus' })

export const systemInfo = z
  .object({
    ...{ version: z.string(), uptime: z.number(), build: z.literal('release'), product: z.literal('loci') },
    meaning: z
      .string()
      .meta({ description: 'SHA-256 of the tables of words that recall uses: other tables, other answers.' }),
  })
  .meta({ id: 'SystemInfo' })

export const conductorEndpoints = z
  .object({ endpoints: z.array(z.string()), total: z.int() })
  .meta({ id: 'ConductorEndpoints' })
