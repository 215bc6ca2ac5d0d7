// Generated from docs/api/daemon.openapi.json by scripts/documents.ts; run that, do not edit this.

export type DaemonOperations = {
  /** Read where a client of /mcp can ask a person for access. */
  'GET /.well-known/oauth-protected-resource': {
    given: {}
    answers: {
      200: ProtectedResource
    }
  }
  /** Read where a client of /mcp can ask a person for access. */
  'GET /.well-known/oauth-protected-resource/mcp': {
    given: {}
    answers: {
      200: ProtectedResource
    }
  }
  /** List audit entries of admin requests in this cell, newest first. */
  'GET /admin/audit': {
    given: {
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: AdminAuditList
    }
  }
  /** Revoke a capability, or every one that was issued before a moment. By the jti of any of its links; or of an organization, tenant or service. */
  'POST /admin/revocations': {
    given: {
      body: RevocationRequest
    }
    answers: {
      200: RevocationResponse
    }
  }
  /** Disable sub-services in the whole cell. */
  'POST /admin/services/disable': {
    given: {
      body: SwitchRequest
    }
    answers: {
      200: SwitchResponse
    }
  }
  /** Enable sub-services in the whole cell. */
  'POST /admin/services/enable': {
    given: {
      body: SwitchRequest
    }
    answers: {
      200: SwitchResponse
    }
  }
  /** Read the switches of the cell, and what this replica has seen of each sub-service. */
  'GET /admin/services/status': {
    given: {}
    answers: {
      200: SwitchStatus
    }
  }
  /** Read the documentation as a page. Compressed where the client accepts gzip. */
  'GET /docs': {
    given: {
      headers?: {
        'If-None-Match'?: string | undefined
      } | undefined
    }
    answers: {
      200: string
    }
  }
  /** Ask whether the process is alive. Touches no dependency. */
  'GET /health/live': {
    given: {}
    answers: {
      200: HealthResponse
    }
  }
  /** Ask whether requests should be sent here. */
  'GET /health/ready': {
    given: {}
    answers: {
      200: ReadyResponse
    }
  }
  /** Ask whether the process has started, and in what state each part is. */
  'GET /health/startup': {
    given: {}
    answers: {
      200: StartupResponse
    }
  }
  /** Send a message of the Model Context Protocol. The tools are those that the capability has operations for. */
  'POST /mcp': {
    given: {
      body: unknown
    }
    answers: {
      200: unknown
      202: unknown
    }
  }
  /** Read Prometheus metrics, at most a second old. */
  'GET /metrics': {
    given: {}
    answers: {
      200: string
    }
  }
  /** Read this document. Compressed where the client accepts gzip. */
  'GET /openapi.json': {
    given: {
      headers?: {
        'If-None-Match'?: string | undefined
      } | undefined
    }
    answers: {
      200: unknown
    }
  }
  /** Report the outcomes of tool calls, so that the next ranking learns from them. */
  'POST /v1/advice/outcomes': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
      body: OutcomeReport
      idempotencyKey?: string | undefined
    }
    answers: {
      200: OutcomeResults
    }
  }
  /** List the policies of the database. An operator may, and the holder of `advice:read`. */
  'GET /v1/advice/policies': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: PolicyList
    }
  }
  /** Read a policy. An operator may, and the holder of `advice:read`. */
  'GET /v1/advice/policies/{name}': {
    given: {
      path: {
        name: string
      }
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: Policy
    }
  }
  /** Write a policy. With If-Match only over that version. `default` holds for every request, also beside the one that it names. */
  'PUT /v1/advice/policies/{name}': {
    given: {
      path: {
        name: string
      }
      headers?: {
        'x-loci-database'?: string | undefined
        'If-Match'?: string | undefined
      } | undefined
      body: PolicyWrite
    }
    answers: {
      200: Policy
    }
  }
  /** Rank tools for a task by their outcomes, with a capability. */
  'POST /v1/advice/rank': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
      body: AdviceRequest
    }
    answers: {
      200: ToolRankResult
    }
  }
  /** Rank tools for a task by their outcomes and a policy, as a partner. */
  'POST /v1/advice/tools:rank': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
      body: ToolRankRequest
    }
    answers: {
      200: ToolRankResult
    }
  }
  /** List audit entries of this instance, newest first. */
  'GET /v1/audit': {
    given: {
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: AuditList
    }
  }
  /** Read the configuration in force. It is what was put, over the service’s own, over the defaults. Unusable values are not in it; `warnings` names them. */
  'GET /v1/cognitive/config': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: CognitiveConfigInForce
    }
  }
  /** Replace the configuration of the database by any JSON object. With If-Match only over that version. */
  'PUT /v1/cognitive/config': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
        'If-Match'?: string | undefined
      } | undefined
      body: CognitiveConfig
    }
    answers: {
      200: CognitiveConfigUpdate
    }
  }
  /** Run a cognitive cycle. It takes in what was observed, decides what stays in mind, and says why. */
  'POST /v1/cognitive/cycles': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
      body?: CycleRun | undefined
      idempotencyKey?: string | undefined
    }
    answers: {
      200: CycleRan
    }
  }
  /** List cycles, newest first. Each that is shown was verified; damaged ones are named in `corruption`. */
  'GET /v1/cognitive/cycles': {
    given: {
      query?: {
        limit?: number | undefined
        cursor?: string | undefined
        since?: string | undefined
        until?: string | undefined
      } | undefined
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: Cycles
    }
  }
  /** Read a cycle. By its id, or by its number: `seq`. */
  'GET /v1/cognitive/cycles/{id}': {
    given: {
      path: {
        id: string
      }
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: Cycle
    }
  }
  /** List what a cycle decided, with the reasons. Of a cycle by its id, or by its number: `seq`. */
  'GET /v1/cognitive/cycles/{id}/decisions': {
    given: {
      path: {
        id: string
      }
      query?: {
        limit?: number | undefined
        cursor?: string | undefined
      } | undefined
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: CycleDecisions
    }
  }
  /** Check whether cycles of the database run when they are due, and how attempts ended. */
  'GET /v1/cognitive/health': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: CognitiveHealth
    }
  }
  /** Read the configuration in force with the default, the range and the schema of each known key. */
  'GET /v1/cognitive/settings': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: CognitiveSettings
    }
  }
  /** Read how many cycles there were, and how long they took. */
  'GET /v1/cognitive/stats': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: CycleStats
    }
  }
  /** Read which slots were in working memory over time, newest first. Exact for what is kept: 30 days, on the plan free 7. A page has at most `limit` cycles and 1,000 slots that left, and ends earlier at 1 MiB of what they said or 2 MiB of decisions; `nextCursor` goes on. `content=true` needs `wm:read` too. */
  'GET /v1/cognitive/timeline': {
    given: {
      query?: {
        since?: string | undefined
        until?: string | undefined
        content?: 'true' | 'false' | undefined
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: Timeline
    }
  }
  /** List the path of every registered route. */
  'GET /v1/conductor/endpoints': {
    given: {}
    answers: {
      200: ConductorEndpoints
    }
  }
  /** List the databases of the service with what each holds. */
  'GET /v1/databases': {
    given: {
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: DatabaseList
    }
  }
  /** Erase a database with all that it holds. A person is forgotten whole. At once nothing of it is read. A cell that is restored from a backup erases it again before it serves, once management has its ledger row (`ledgered`). The next write to the name begins a new database. */
  'DELETE /v1/databases/{name}': {
    given: {
      path: {
        name: string
      }
    }
    answers: {
      200: DatabaseDeleted
      202: DatabaseErasing
    }
  }
  /** Check every dependency and sub-service. What is told was checked at most a second ago. */
  'GET /v1/health/all': {
    given: {}
    answers: {
      200: HealthAllResponse
    }
  }
  /** Ask whether the process is alive. Touches no dependency. */
  'GET /v1/health/live': {
    given: {}
    answers: {
      200: HealthResponse
    }
  }
  /** Ask whether requests should be sent here. */
  'GET /v1/health/ready': {
    given: {}
    answers: {
      200: ReadyResponse
    }
  }
  /** Ask whether the process has started, and in what state each part is. */
  'GET /v1/health/startup': {
    given: {}
    answers: {
      200: StartupResponse
    }
  }
  /** Verify the digests of entries and the counters of their databases. `full` goes on by cursor. */
  'GET /v1/kv/consistency': {
    given: {
      query?: {
        mode?: 'incremental' | 'full' | undefined
        cursor?: string | undefined
      } | undefined
    }
    answers: {
      200: KvConsistency
    }
  }
  /** List entries by key in order of code points, or backwards. With `keysOnly` without their values. */
  'GET /v1/kv/entries': {
    given: {
      query?: {
        prefix?: string | undefined
        cursor?: string | undefined
        limit?: number | undefined
        order?: 'asc' | 'desc' | undefined
        keysOnly?: 'true' | 'false' | undefined
      } | undefined
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: EntryList
    }
  }
  /** Put and delete several entries, all or nothing. */
  'POST /v1/kv/entries/batch': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
      body: EntryBatch
      idempotencyKey?: string | undefined
    }
    answers: {
      200: EntryBatchResult
    }
  }
  /** Write an entry. With If-Match only over that version, with `If-None-Match: *` only where there is none. */
  'PUT /v1/kv/entries/{key}': {
    given: {
      path: {
        key: string
      }
      headers?: {
        'x-loci-database'?: string | undefined
        'If-Match'?: string | undefined
        'If-None-Match'?: string | undefined
      } | undefined
      body: EntryWrite
    }
    answers: {
      200: Entry
    }
  }
  /** Read an entry. */
  'GET /v1/kv/entries/{key}': {
    given: {
      path: {
        key: string
      }
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: Entry
    }
  }
  /** Delete an entry. With If-Match only that version. */
  'DELETE /v1/kv/entries/{key}': {
    given: {
      path: {
        key: string
      }
      headers?: {
        'x-loci-database'?: string | undefined
        'If-Match'?: string | undefined
      } | undefined
    }
    answers: {
      200: EntryDeleted
    }
  }
  /** Check the store by writing, committing and reading back a probe. The answer says how durable the store is and what it holds. A store that does not answer is `failed`. */
  'GET /v1/kv/health': {
    given: {}
    answers: {
      200: KvHealth
    }
  }
  /** Read the state of the process, its reasons and past transitions. */
  'GET /v1/lifecycle/status': {
    given: {}
    answers: {
      200: LifecycleStatus
    }
  }
  /** Recall what answers a question, best first, with the reasons. With `recordIds` the answer also says where these stand: rank, parts and relevance, also below the cut, or why they were not looked at. */
  'POST /v1/memory/recall': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
      body: RecallRequest
    }
    answers: {
      200: RecallResult
    }
  }
  /** Store a memory. A known `sourceEventId` is answered with its record. */
  'POST /v1/memory/records': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
      body: RecordWrite
      idempotencyKey?: string | undefined
    }
    answers: {
      200: RecordStored
    }
  }
  /** List memories, newest first or oldest first. With a filter, those that hold. `total` says how many there are. */
  'GET /v1/memory/records': {
    given: {
      query?: {
        tag?: string | undefined
        kind?: string | undefined
        actor?: string | undefined
        contextId?: string | undefined
        key?: string | undefined
        since?: string | undefined
        until?: string | undefined
        order?: 'asc' | 'desc' | undefined
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: RecordList
    }
  }
  /** Store several memories, all or nothing. */
  'POST /v1/memory/records/batch': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
      body: RecordBatch
      idempotencyKey?: string | undefined
    }
    answers: {
      200: RecordBatchResult
    }
  }
  /** Read up to 100 memories by their ids. In the order of the ids; one that is asked for twice is answered once. An erased memory, or one of another database, is `missing`. */
  'POST /v1/memory/records/read': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
      body: RecordRead
    }
    answers: {
      200: RecordsRead
    }
  }
  /** Read a memory, also one that was superseded. */
  'GET /v1/memory/records/{id}': {
    given: {
      path: {
        id: string
      }
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: Record
    }
  }
  /** Erase a memory and every copy of it. All records that say the same, the index, slots and their history, cycles, projections; its value is not learned again in this spelling (case and space do not count; another full stop or letter does). A cell that is restored from a backup erases it again before it serves, once management has its ledger row (`ledgered`). */
  'DELETE /v1/memory/records/{id}': {
    given: {
      path: {
        id: string
      }
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: RecordDeleted
    }
  }
  /** Read the history of a memory, with what it replaced and when it was in working memory. What it replaced, and when it was said, too. Decisions of the last 8 times that it was in mind. What was in mind is told to who may read cycles: `cycles:read`. */
  'GET /v1/memory/records/{id}/trace': {
    given: {
      path: {
        id: string
      }
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: RecordTrace
    }
  }
  /** Ingest one event of a partner, or up to 500. It is durable before the answer. The same again is answered with the first one’s id. */
  'POST /v1/partner/projections': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
      body: ProjectionIngest
    }
    answers: {
      200: ProjectionResults
    }
  }
  /** Read version and uptime of the daemon, and which tables recall uses. */
  'GET /v1/system/info': {
    given: {}
    answers: {
      200: SystemInfo
    }
  }
  /** Read the configuration in force. It is what was put, over the service’s own, over the defaults. Unusable values are not in it; `warnings` names them. */
  'GET /v1/working-memory/config': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: SlotConfigInForce
    }
  }
  /** Replace the configuration of the database by any JSON object. With If-Match only over that version. */
  'PUT /v1/working-memory/config': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
        'If-Match'?: string | undefined
      } | undefined
      body: SlotConfig
    }
    answers: {
      200: SlotConfigUpdate
    }
  }
  /** List the slots that left, newest first, and why. With `content=true` also what each said; such a page ends at a megabyte. */
  'GET /v1/working-memory/evictions': {
    given: {
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
        content?: 'true' | 'false' | undefined
      } | undefined
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: EvictionList
    }
  }
  /** Read the configuration in force with the default, the range and the schema of each known key. */
  'GET /v1/working-memory/settings': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: SlotSettings
    }
  }
  /** List the slots. */
  'GET /v1/working-memory/slots': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: SlotList
    }
  }
  /** Put and delete several slots, all or nothing. */
  'POST /v1/working-memory/slots/batch': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
      body: SlotBatch
      idempotencyKey?: string | undefined
    }
    answers: {
      200: SlotBatchResult
    }
  }
  /** Clear the slots that are not pinned. The answer has a token that brings them back within 24 hours. */
  'POST /v1/working-memory/slots/clear': {
    given: {
      query?: {
        dryRun?: 'true' | 'false' | undefined
        includePinned?: 'true' | 'false' | undefined
      } | undefined
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
      idempotencyKey?: string | undefined
    }
    answers: {
      200: SlotsCleared
    }
  }
  /** Undo a clear by its token, or write a former version of a slot again. `missing`: cleared slots whose version is no longer kept (erased since, or older than the history of the plan: 30 days, free 7). */
  'POST /v1/working-memory/slots/restore': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
      body: SlotRestore
      idempotencyKey?: string | undefined
    }
    answers: {
      200: SlotsRestored
    }
  }
  /** Write a slot. With If-Match only over that version, with `If-None-Match: *` only where there is none. Over capacity another one leaves. */
  'PUT /v1/working-memory/slots/{key}': {
    given: {
      path: {
        key: string
      }
      headers?: {
        'x-loci-database'?: string | undefined
        'If-Match'?: string | undefined
        'If-None-Match'?: string | undefined
      } | undefined
      body: SlotWrite
    }
    answers: {
      200: SlotWritten
    }
  }
  /** Read a slot. */
  'GET /v1/working-memory/slots/{key}': {
    given: {
      path: {
        key: string
      }
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: Slot
    }
  }
  /** Change a slot by a JSON merge patch. With If-Match only that version. */
  'PATCH /v1/working-memory/slots/{key}': {
    given: {
      path: {
        key: string
      }
      headers?: {
        'x-loci-database'?: string | undefined
        'If-Match'?: string | undefined
      } | undefined
      body: SlotPatch
    }
    answers: {
      200: SlotWritten
    }
  }
  /** Delete a slot. With If-Match only that version. Each version stays for 30 days from its writing, on the plan free for 7. */
  'DELETE /v1/working-memory/slots/{key}': {
    given: {
      path: {
        key: string
      }
      headers?: {
        'x-loci-database'?: string | undefined
        'If-Match'?: string | undefined
      } | undefined
    }
    answers: {
      200: SlotDeleted
    }
  }
  /** List every version of a slot, newest first, also of one that has left. */
  'GET /v1/working-memory/slots/{key}/history': {
    given: {
      path: {
        key: string
      }
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: SlotHistory
    }
  }
  /** Read how full the working memory is. */
  'GET /v1/working-memory/stats': {
    given: {
      headers?: {
        'x-loci-database'?: string | undefined
      } | undefined
    }
    answers: {
      200: SlotStatistics
    }
  }
}

/** Those that honour an Idempotency-Key: a repeat of them is answered and not done again. */
export const DAEMON_KEYED: ReadonlySet<string> = new Set([
  'POST /v1/advice/outcomes',
  'POST /v1/cognitive/cycles',
  'POST /v1/kv/entries/batch',
  'POST /v1/memory/records',
  'POST /v1/memory/records/batch',
  'POST /v1/working-memory/slots/batch',
  'POST /v1/working-memory/slots/clear',
  'POST /v1/working-memory/slots/restore',
])

/** Any value that a later server may add: compare with those you know, and take the others too. */
type Other = string & {}

export type AdminAuditList = {
  entries: ({
    id: string
    seq: number
    at: string
    actor: string
    action: string
    subject: string
    outcome: string
    database: string | null
    hash: string
    redacted: boolean
    request_id: string | null
    prev_hash: string | null
  })[]
  next_cursor: string | null
}

export type AdviceRequest = {
  taskClass: string
  taskIntent: string
  sourceEventId: string
  runId?: string | null | undefined
  scope?: unknown | undefined
  policySourceRef?: string | null | undefined
  candidateTools?: (string | {
    toolId: string
    description?: string | undefined
    sideEffects?: boolean | undefined
    costUsd?: number | undefined
    latencyMs?: number | undefined
  })[] | undefined
  constraints?: {
    maxCostUsd?: number | undefined
    maxLatencyMs?: number | undefined
    forbidSideEffects?: boolean | undefined
  } | undefined
  limit?: number | undefined
  explain?: boolean | undefined
}

export type AuditList = {
  entries: ({
    id: string
    seq: number
    at: string
    actor: string
    action: string
    subject: string
    outcome: string
    database: string | null
    hash: string
    redacted: boolean
    requestId: string | null
    prevHash: string | null
  })[]
  nextCursor: string | null
}

export type CognitiveConfig = { [field: string]: unknown }

export type CognitiveConfigInForce = {
  warnings: ({
    key: string
    problem: string
    using: unknown
  })[]
  [field: string]: unknown
}

export type CognitiveConfigUpdate = {
  ok: true
  config: { [field: string]: unknown }
  version: number
  warnings: ({
    key: string
    problem: string
    using: unknown
  })[]
  [field: string]: unknown
}

export type CognitiveHealth = {
  status: 'ok' | 'degraded' | Other
  service: 'cognitive'
  enabled: boolean
  loop: {
    state: 'off' | 'idle' | 'due' | Other
    lastTickAt: string | null
    nextTickAt: string | null
    lagMs: number
    stalled: boolean
  }
  lastCycle: {
    seq: number
    completedAt: string
  } | null
  backlog: {
    projections: number
    oldestAgeMs: number | null
  }
  attempts: {
    total: number
    failed: number
    consecutiveFailures: number
    lastFailureAt: string | null
    lastFailureCode: string | null
  }
}

export type CognitiveSettings = {
  config: { [field: string]: unknown }
  version: number
  warnings: ({
    key: string
    problem: string
    using: unknown
  })[]
  settings: ({
    key: string
    value: unknown
    default: unknown
    range: string
    schema: { [field: string]: unknown }
  })[]
}

export type ConductorEndpoints = {
  endpoints: string[]
  total: number
}

export type CoveredWord = {
  word: string
  covered: number
  by: string | null
}

export type Cycle = {
  completedAt: string
  id: string
  seq: number
  status: 'completed'
  trigger: 'api' | 'schedule' | 'pressure' | 'mcp' | Other
  database: string
  requestedBy: string | null
  focus: string | null
  startedAt: string
  durationMs: number
  phases: ({
    name: 'perceive' | 'cue' | 'recall' | 'compete' | 'broadcast' | 'learn' | Other
    startMs: number
    durationMs: number
    in: number
    out: number
  })[]
  decisions: {
    admitted: number
    kept: number
    merged: number
    reinforced: number
    stored: number
    evicted: number
    consolidated: number
    forgotten: number
    rejected: number
  }
  threshold: CycleThreshold | null
  ledger?: CycleDecision[]
  summary: string
  broadcast: ({
    kind: 'slot' | 'record' | Other
    ref: string
    score: number
  })[]
  decisionsUrl: string
  workingMemory: {
    before: {
      slotCount: number
      digest: string
    }
    after: {
      slotCount: number
      digest: string
    }
  }
  configVersion: number
  engine: {
    version: string
    deterministic: true
    seed: string
  }
  dryRun: boolean
  warnings: ({
    key: string
    problem: string
    using: unknown
  })[]
  prevHash: string | null
  hash: string
  metadata: { [field: string]: unknown } | null
  redacted?: true
  [field: string]: unknown
}

export type CycleCorruption = {
  detected: boolean
  count: number
  status: 'clean' | 'quarantined' | 'unknown' | Other
  checkedThroughSeq: number | null
  verifiedAt: string | null
  method: 'sha256-chain'
  entries: ({
    ref: string | null
    seq: number | null
    reason: 'digest_mismatch' | 'chain_break' | 'undecodable' | 'missing' | 'page_unreadable' | Other
    quarantinedAt: string
    recoverable: boolean
  })[]
}

export type CycleDecision = {
  seq: number
  action: string
  subject: {
    kind: string
    key: string | null
    version: number | null
  }
  reasonCode: string
  reason: string
  score: number
  parts: ({
    name: string
    value: number
    weight: number
    contribution: number
  })[]
  displacedBy?: string
  evidenceRefs: string[]
  rule: string
  recoverableUntil: string | null
}

export type CycleDecisions = {
  decisions: CycleDecision[]
  nextCursor: string | null
}

export type CycleRan = Cycle | PrunedCycle

export type CycleRun = {
  focus?: string | null | undefined
  observations?: Observation[] | undefined
  limits?: {
    maxDurationMs?: number | undefined
    maxEvents?: number | undefined
    queueMs?: number | undefined
  } | undefined
  dryRun?: boolean | undefined
  metadata?: { [field: string]: unknown } | undefined
}

export type CycleStats = {
  totalCycles: number
  completedCycles: number
  failedCycles: 0
  averageDurationMs: number
  lastCycleAt: string
  corruption: CycleCorruption
  attempts: {
    total: number
    failed: number
    consecutiveFailures: number
    lastFailureAt: string | null
    lastFailureCode: string | null
  }
  [field: string]: unknown
}

export type CycleThreshold = {
  best: number
  bar: number
}

export type Cycles = {
  cycles: Cycle[]
  total: number
  corruption: CycleCorruption
  nextCursor: string | null
  [field: string]: unknown
}

export type DatabaseDeleted = {
  deleted: true
  name: string
  receipt: string | null
  ledgered: 'cell' | 'management' | Other
}

export type DatabaseErasing = {
  deleted: false
  erasing: true
  name: string
  receipt: string | null
  ledgered: 'cell' | 'management' | Other
}

export type DatabaseList = {
  databases: ({
    name: string
    records: number
    slots: number
    keys: number
    bytes: number
    createdAt: string
  })[]
  nextCursor: string | null
}

export type DeniedTool = {
  toolId: string
  reasonCode: 'policy' | 'failure_budget' | 'constraint' | Other
  rule: unknown
  detail: string
}

export type Entry = {
  key: string
  value: unknown
  version: number
  createdAt: string
  updatedAt: string
  expiresAt: string | null
  digest: string
}

export type EntryBatch = {
  operations: ({
    op: 'put'
    key: string
    ifVersion?: number | undefined
    value: unknown
    ttlMs?: number | undefined
  } | {
    op: 'delete'
    key: string
    ifVersion?: number | undefined
  })[]
}

export type EntryBatchResult = {
  results: ({
    op: 'put' | 'delete' | Other
    key: string
    version: number
    deleted?: boolean
    expiresAt?: string | null
    digest?: string
  })[]
}

export type EntryDeleted = {
  deleted: true
  key: string
  version: number
}

export type EntryList = {
  entries: ({
    key: string
    value?: unknown
    version: number
    createdAt: string
    updatedAt: string
    expiresAt: string | null
    digest: string
  })[]
  nextCursor: string | null
  damaged?: ({
    ref: string | null
    reason: 'digest_mismatch' | 'page_unreadable' | Other
  })[]
}

export type EntryWrite = {
  value: unknown
  ttlMs?: number | undefined
}

export type EvictionList = {
  evictions: ({
    seq: number
    key: string
    version: number
    reasonCode: string
    reason: string
    displacedBy: string | null
    policy: string | null
    explain: Explanation
    evictedAt: string
    recoverableUntil: string
    value?: unknown
    recordId?: string | null
    redacted?: true
  })[]
  nextCursor: string | null
  damaged?: ({
    ref: string | null
    reason: 'digest_mismatch' | 'page_unreadable' | Other
  })[]
}

export type Explanation = {
  score: number
  parts: ({
    name: string
    value: number
    weight: number
    contribution: number
  })[]
}

export type HealthAllResponse = {
  status: 'ok' | 'degraded' | 'starting' | 'draining' | Other
  checks: { [field: string]: {
    status: string
    latencyMs?: number
    detail?: string
  } }
  latencyMs: number
  timestamp: string
}

export type HealthResponse = {
  status: 'ok'
}

export type KvConsistency = {
  status: 'consistent' | 'inconsistent' | 'unknown' | Other
  mode: 'incremental' | 'full' | Other
  summary: {
    rows: number
    bytes: number
    issues: number
  }
  checks: ({
    name: string
    checked: number
    failed: number
  })[]
  issues: ({
    severity: string
    type: string
    domain: string
    database: string
    ref: string | null
    detail: string
    repair: string
  })[]
  rootDigest: string
  coverage: {
    complete: boolean
    nextCursor: string | null
    rowsTotal: number
  }
  startedAt: string
  durationMs: number
}

export type KvHealth = {
  status: 'ok' | 'degraded' | 'failed' | Other
  detail?: string
  engine: 'postgresql'
  engineVersion: string | null
  schemaVersion: number | null
  probe: {
    writeMs: number | null
    commitMs: number | null
    readMs: number | null
  }
  durability: {
    fsync: string | null
    synchronousCommit: string | null
    dataChecksums: string | null
  }
  replication: ({
    name: string
    state: string
    lagBytes: number | null
    sync: string
  })[]
  databases: ({
    name: string
    keys: number
    bytes: number
  })[]
  latencyMs: number
  checkedAt: string
}

export type LifecycleStatus = {
  state: 'starting' | 'migrating' | 'warming' | 'ready' | 'degraded' | 'draining' | 'stopped' | 'failed' | Other
  since: string
  acceptingRequests: boolean
  reasons: string[]
  transitions: ({
    from: 'starting' | 'migrating' | 'warming' | 'ready' | 'degraded' | 'draining' | 'stopped' | 'failed' | Other | null
    to: 'starting' | 'migrating' | 'warming' | 'ready' | 'degraded' | 'draining' | 'stopped' | 'failed' | Other
    at: string
    reason: string
  })[]
  drain: {
    deadline: string | null
    inFlight: number
  }
}

export type NamedRecord = {
  id: string
  database?: string
  standing: 'result' | 'below' | 'crowded_out' | 'no_evidence' | 'filtered' | 'superseded' | 'archived' | 'later' | 'not_indexed' | 'damaged' | 'missing' | Other
  reason: string
  filteredBy: string[]
  rank: number | null
  among: number | null
  relevance: number | null
  needs: number | null
  score: number | null
  content: string | null
  explain: {
    score: number
    parts: ({
      name: string
      value: number
      weight: number
      contribution: number
    })[]
    words: CoveredWord[]
  } | null
}

export type Observation = {
  content: string
  key?: string | undefined
  contextId?: string | undefined
  actor?: string | undefined
  occurredAt?: string | undefined
  media?: string | undefined
  kind?: string | undefined
  tags?: string[] | undefined
  evidenceRefs?: string[] | undefined
  sourceEventId?: string | undefined
  supersedes?: string | undefined
  salience?: number | undefined
  dueAt?: string | undefined
  ttlMs?: number | undefined
  metadata?: { [field: string]: unknown } | undefined
}

export type OutcomeReport = OutcomeWrite | OutcomeWrite[]

export type OutcomeResult = {
  accepted: true
  projectionId: string
  duplicate: boolean
  appliedSeq: number
}

export type OutcomeResults = OutcomeResult | OutcomeResult[]

export type OutcomeWrite = {
  taskClass: string
  taskIntent?: string | undefined
  scope?: unknown | undefined
  runId?: string | undefined
  sourceEventId?: string | undefined
  occurredAt?: string | undefined
  evidenceRefs?: string[] | undefined
  tools: ({
    toolId: string
    outcome: 'success' | 'failure' | 'partial' | 'denied' | 'cancelled'
    latencyMs?: number | undefined
    costUsd?: number | undefined
    errorCode?: string | undefined
  })[]
}

export type Policy = {
  name: string
  ref: string
  version: number
  rules: PolicyRule[]
}

export type PolicyList = {
  policies: ({
    name: string
    ref: string
    version: number
  })[]
  nextCursor: null
}

export type PolicyRule = {
  effect: 'deny' | 'allow' | Other
  tool: string
  taskClass?: string
  scope?: unknown
  sideEffects?: boolean
  failureBudget?: number
  reason?: string
}

export type PolicyRuleGiven = {
  effect: 'deny' | 'allow'
  tool: string
  taskClass?: string | undefined
  scope?: unknown | undefined
  sideEffects?: boolean | undefined
  failureBudget?: number | undefined
  reason?: string | undefined
}

export type PolicyWrite = {
  rules: PolicyRuleGiven[]
}

export type Projection = {
  projection_id?: string | undefined
  projection_class: 'event' | 'tool_outcome' | 'fact' | 'preference' | 'retraction'
  source_event_id: string
  source_system?: string | undefined
  occurred_at?: string | undefined
  run_id?: string | undefined
  task_class?: string | undefined
  task_intent?: string | undefined
  scope?: unknown | undefined
  tools?: ({
    tool_id: string
    outcome: 'success' | 'failure' | 'partial' | 'denied' | 'cancelled'
    latency_ms?: number | undefined
    cost_usd?: number | undefined
    error_code?: string | undefined
  })[] | undefined
  payload?: unknown | undefined
  evidence_refs?: string[] | undefined
  supersedes?: string | undefined
  confidence?: number | undefined
  ttl_ms?: number | undefined
}

export type ProjectionIngest = Projection | Projection[]

export type ProjectionResult = {
  accepted: true
  projectionId: string
  projectionClass: string
  sourceEventId: string
  lociNamespace: string
  appliedSeq: number
  duplicate: boolean
  [field: string]: unknown
}

export type ProjectionResults = ProjectionResult | ProjectionResult[]

export type ProtectedResource = {
  resource: string
  authorization_servers: string[]
  scopes_supported: string[]
  bearer_methods_supported: string[]
  resource_name: string
}

export type PrunedCycle = {
  id: string
  redacted: true
  [field: string]: unknown
}

export type RankedTool = {
  toolId: string
  rank: number
  score: number
  confidence: {
    lower95: number
    upper95: number
    effective: {
      successes: number
      failures: number
    }
  }
  stats: {
    attempts: number
    successes: number
    failures: number
    lastOutcomeAt: string | null
  }
  coldStart: boolean
  reasons: string[]
  explain: {
    score: number
    parts: ({
      name: 'text' | 'reliability' | 'explore' | 'health' | Other
      value: number
      weight: number
      contribution: number
    })[]
    partners: ({
      partner: string
      attempts: number
      successes: number
      failures: number
    })[]
  } | null
  evidence: ({
    projectionId: string
    outcome: string
    evidenceRefs: string[]
  })[]
}

export type ReadyResponse = {
  status: 'ok' | 'degraded' | Other
}

export type RecallRequest = {
  query: string
  limit?: number | undefined
  abstain?: boolean | undefined
  minRelevance?: number | undefined
  minScore?: number | undefined
  databases?: string[] | undefined
  kinds?: string[] | undefined
  tags?: string[] | undefined
  actors?: string[] | undefined
  contextIds?: string[] | undefined
  keys?: string[] | undefined
  metadata?: { [field: string]: unknown } | undefined
  since?: string | undefined
  until?: string | undefined
  asOf?: string | undefined
  tokenBudget?: number | undefined
  recordIds?: string[] | undefined
  cursor?: string | undefined
  explain?: boolean | undefined
}

export type RecallResult = {
  results: ({
    id: string
    key: string | null
    content: string
    kind: string
    relevance: number
    score: number
    explain: {
      score: number
      parts: ({
        name: string
        value: number
        weight: number
        contribution: number
      })[]
      words: CoveredWord[]
    } | null
    database?: string
    evidenceRefs: string[]
    tags: string[]
    contextId: string | null
    actor: string | null
    metadata: { [field: string]: unknown } | null
    source: {
      type: string
      ref: string | null
      actor: string | null
      trust: string
    }
    createdAt: string
    occurredAt: string | null
    validFrom: string
    validTo: string | null
    version: number
  })[]
  abstained: boolean
  reason?: string
  nearest?: ({
    id: string
    relevance: number
    database?: string
    content?: string
    explain?: {
      score: number
      parts: ({
        name: string
        value: number
        weight: number
        contribution: number
      })[]
      words: CoveredWord[]
    }
  })[]
  abstention?: {
    best: number
    threshold: number | null
  }
  named?: NamedRecord[]
  nextCursor: string | null
  total: number
  incomplete: boolean
  asOfSeq: number
  tookMs: number
  damaged?: ({
    ref: string | null
    reason: 'digest_mismatch' | 'page_unreadable' | Other
  })[]
}

export type Record = {
  id: string
  key: string | null
  content: string
  kind: string
  contextId: string | null
  actor: string | null
  occurredAt: string | null
  media: string | null
  tags: string[]
  evidenceRefs: string[]
  sourceEventId: string | null
  salience: number
  salienceHint: number
  dueAt: string | null
  metadata: { [field: string]: unknown } | null
  source: {
    type: string
    ref: string | null
    actor: string | null
    trust: string
  }
  version: number
  createdAt: string
  validFrom: string
  validTo: string | null
  archivedAt: string | null
  expiresAt: string | null
  digest: string
}

export type RecordBatch = {
  records: RecordWrite[]
}

export type RecordBatchResult = {
  records: RecordStored[]
}

export type RecordDeleted = {
  deleted: true
  id: string
  tombstone: string
  checked: ({
    place: string
    found: number
    erased: number
  })[]
  receipt: string
  ledgered: 'cell' | 'management' | Other
  deletedAt: string
}

export type RecordList = {
  records: Record[]
  nextCursor: string | null
  total: number
  totalIsAtLeast: boolean
  damaged?: ({
    ref: string | null
    reason: 'digest_mismatch' | 'page_unreadable' | Other
  })[]
}

export type RecordRead = {
  ids: string[]
}

export type RecordStored = Record | RedactedRecord

export type RecordTrace = {
  supersedes: string[]
  supersededBy: string | null
  presentations: {
    n: number
    first: string
    last: string
  }
  slot: {
    key: string
    since: string
    activation: number
    pinned: boolean
  } | null
  decisions: ({
    cycleSeq: number
    at: string
    action: string
    reasonCode: string
    reason: string
    score: number
  })[] | null
  complete: boolean
}

export type RecordWrite = {
  content: string
  key?: string | undefined
  contextId?: string | undefined
  actor?: string | undefined
  occurredAt?: string | undefined
  media?: string | undefined
  kind?: string | undefined
  tags?: string[] | undefined
  evidenceRefs?: string[] | undefined
  sourceEventId?: string | undefined
  supersedes?: string | undefined
  salience?: number | undefined
  dueAt?: string | undefined
  ttlMs?: number | undefined
  metadata?: { [field: string]: unknown } | undefined
  override?: boolean | undefined
}

export type RecordsRead = {
  records: Record[]
  missing: string[]
  left?: string[]
  damaged?: ({
    ref: string | null
    reason: 'digest_mismatch' | 'page_unreadable' | Other
  })[]
}

export type RedactedRecord = {
  id: string
  redacted: true
}

export type RevocationRequest = {
  jti?: string | undefined
  org?: string | undefined
  ten?: string | undefined
  svc?: string | undefined
  not_before?: string | undefined
}

export type RevocationResponse = {
  revoked: true
  audit_id: string
}

export type Slot = {
  id: string
  key: string
  kind: string
  value: unknown
  recordId: string | null
  version: number
  etag: string
  activation: number
  salience: number
  pinned: boolean
  ephemeral: boolean
  ttlMs: number | null
  expiresAt: string | null
  createdAt: string
  updatedAt: string
  lastAccessedAt: string | null
  accessCount: number
  sizeBytes: number
  source: {
    type: string
    ref: string | null
    actor: string | null
    trust: string
  }
  explain: Explanation
  evidenceRefs: string[]
  tags: string[]
  digest: string
}

export type SlotBatch = {
  operations: ({
    op: 'put'
    key: string
    ifVersion?: number | undefined
    value: unknown
    kind?: string | undefined
    salience?: number | undefined
    pinned?: boolean | undefined
    ttlMs?: number | null | undefined
    tags?: string[] | undefined
    evidenceRefs?: string[] | undefined
    ephemeral?: boolean | undefined
  } | {
    op: 'delete'
    key: string
    ifVersion?: number | undefined
  })[]
}

export type SlotBatchResult = {
  results: ({
    op: 'put' | 'delete' | Other
    key: string
    version: number
    deleted?: boolean
    expiresAt?: string | null
    digest?: string
    evicted?: ({
      key: string
      reasonCode: string
      reason: string
      displacedBy: string | null
      explain: Explanation
    })[]
  })[]
}

export type SlotConfig = { [field: string]: unknown }

export type SlotConfigInForce = {
  warnings: ({
    key: string
    problem: string
    using: unknown
  })[]
  [field: string]: unknown
}

export type SlotConfigUpdate = {
  ok: true
  config: { [field: string]: unknown }
  version: number
  warnings: ({
    key: string
    problem: string
    using: unknown
  })[]
  [field: string]: unknown
}

export type SlotDeleted = {
  deleted: true
  key: string
  version: number
}

export type SlotHistory = {
  versions: Slot[]
  nextCursor: string | null
  damaged?: ({
    ref: string | null
    reason: 'digest_mismatch' | 'page_unreadable' | Other
  })[]
}

export type SlotList = {
  slots: Slot[]
  count: number
  capacity: number
  asOfSeq: number
  damaged?: ({
    ref: string | null
    reason: 'digest_mismatch' | 'page_unreadable' | Other
  })[]
}

export type SlotPatch = {
  value?: unknown | undefined
  kind?: string | null | undefined
  salience?: number | null | undefined
  pinned?: boolean | null | undefined
  ttlMs?: number | null | undefined
  tags?: string[] | null | undefined
  evidenceRefs?: string[] | null | undefined
  ephemeral?: boolean | null | undefined
}

export type SlotRestore = {
  undoToken: string
} | {
  key: string
  version: number
}

export type SlotSettings = {
  config: { [field: string]: unknown }
  version: number
  warnings: ({
    key: string
    problem: string
    using: unknown
  })[]
  settings: ({
    key: string
    value: unknown
    default: unknown
    range: string
    schema: { [field: string]: unknown }
  })[]
}

export type SlotStatistics = {
  slotCount: number
  capacity: number
  utilizationPct: number
  pinned: number
  bytes: number
  evictions: number
}

export type SlotWrite = {
  value: unknown
  kind?: string | undefined
  salience?: number | undefined
  pinned?: boolean | undefined
  ttlMs?: number | null | undefined
  tags?: string[] | undefined
  evidenceRefs?: string[] | undefined
  ephemeral?: boolean | undefined
}

export type SlotWritten = {
  id: string
  key: string
  kind: string
  value: unknown
  recordId: string | null
  version: number
  etag: string
  activation: number
  salience: number
  pinned: boolean
  ephemeral: boolean
  ttlMs: number | null
  expiresAt: string | null
  createdAt: string
  updatedAt: string
  lastAccessedAt: string | null
  accessCount: number
  sizeBytes: number
  source: {
    type: string
    ref: string | null
    actor: string | null
    trust: string
  }
  explain: Explanation
  evidenceRefs: string[]
  tags: string[]
  digest: string
  evicted: ({
    key: string
    reasonCode: string
    reason: string
    displacedBy: string | null
    explain: Explanation
  })[]
}

export type SlotsCleared = {
  ok: true
  cleared: number
  retained: number
  retainedKeys: string[]
  clearedAt: string
  asOfSeq: number
  dryRun: boolean
  undo: {
    token: string
    expiresAt: string
  } | null
}

export type SlotsRestored = {
  ok: true
  restored: number
  slots: (Slot | {
    key: string
    version: number
    redacted: true
  })[]
  missing: string[]
  evicted: ({
    key: string
    reasonCode: string
    reason: string
    displacedBy: string | null
    explain: Explanation
  })[]
}

export type StartupResponse = {
  status: 'ok'
  services: { [field: string]: string }
}

export type SwitchRequest = {
  services?: string[] | undefined
  service?: string | undefined
  reason?: string | undefined
  drain_timeout_ms?: number | undefined
  auto_revert_ms?: number | undefined
  dry_run?: boolean | undefined
}

export type SwitchResponse = {
  success: boolean
  updates: ({
    service: string
    previous: 'enabled' | 'disabled' | Other
    current: 'enabled' | 'disabled' | Other
    changed: boolean
    effective_at: string
    drained: boolean
    audit_id: string | null
  })[]
  failed_services: ({
    service: string
    code: string
    message: string
    dependents: string[]
  })[]
}

export type SwitchStatus = {
  services: ({
    name: string
    enabled: boolean
    required: boolean
    state: string
    since: string
    depends_on: string[]
    in_flight: number
    requests_total: number
    errors_total: number
    last_error: {
      code: string
      at: string
      request_id: string
    } | null
    changed_by: string | null
    auto_revert_at: string | null
  })[]
}

export type SystemInfo = {
  version: string
  uptime: number
  build: 'release'
  product: 'loci'
  meaning: string
}

export type Timeline = {
  capacity: number
  cycles: TimelineCycle[]
  items: TimelineItem[]
  complete: boolean
  damaged: ({
    kind: 'cycle' | 'decisions' | 'slot' | Other
    ref: string | null
    reason: 'digest_mismatch' | 'chain_break' | 'missing' | 'page_unreadable' | 'undecodable' | Other
  })[]
  prunedBefore: string | null
  nextCursor: string | null
}

export type TimelineCycle = {
  seq: number
  id: string
  at: string
  trigger: 'api' | 'schedule' | 'pressure' | 'mcp' | Other
  focus: string | null
  counts: {
    admitted: number
    kept: number
    merged: number
    reinforced: number
    stored: number
    evicted: number
    consolidated: number
    forgotten: number
    rejected: number
  }
  bar: number | null
}

export type TimelineItem = {
  key: string
  recordId: string | null
  pinned: boolean
  from: {
    at: string
    by: 'put' | 'observed' | 'recalled' | Other
    cycle: number | null
  } | null
  to: {
    at: string
    reasonCode: string
    displacedBy: string | null
    cycle: number | null
  } | null
  activation: number | null
  scores: ([number, number])[]
  text?: string
  cut?: true
  redacted?: true
}

export type ToolRankRequest = {
  task_class: string
  task_intent: string
  source_event_id: string
  run_id: string
  scope: unknown
  policy_source_ref?: string | null | undefined
  candidate_tools?: (string | {
    tool_id: string
    description?: string | undefined
    side_effects?: boolean | undefined
    cost_usd?: number | undefined
    latency_ms?: number | undefined
  })[] | undefined
  constraints?: {
    max_cost_usd?: number | undefined
    max_latency_ms?: number | undefined
    forbid_side_effects?: boolean | undefined
  } | undefined
  limit?: number | undefined
  explain?: boolean | undefined
}

export type ToolRankResult = {
  recommendationId: string
  taskClass: string
  taskIntent: string
  sourceEventId: string
  runId: string | null
  scope: unknown
  rankedTools: RankedTool[]
  evidenceRefs: string[]
  evidenceTruncated: boolean
  policy: {
    sourceRef: string
    deniedTools: DeniedTool[]
    resolved: boolean
    [field: string]: unknown
  }
  [field: string]: unknown
}
