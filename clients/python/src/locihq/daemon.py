# Generated from docs/api/daemon.openapi.json by scripts/documents.ts; run that, do not edit this.

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, overload

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .calls import Answer, CallOptions, PathParameters

class AdminAuditList(TypedDict):
    entries: list[AdminAuditListEntriesItem]
    next_cursor: str | None


class AdminAuditListEntriesItem(TypedDict):
    id: str
    seq: int
    at: str
    actor: str
    action: str
    subject: str
    outcome: str
    database: str | None
    hash: str
    redacted: bool
    request_id: str | None
    prev_hash: str | None


class _AdviceArguments(TypedDict):
    task_class: str
    task_intent: str


class AdviceArguments(_AdviceArguments, total=False):
    run_id: str | None
    scope: Any
    policy_source_ref: str | None
    candidate_tools: list[str | AdviceArgumentsCandidateToolsItem2]
    constraints: AdviceArgumentsConstraints
    limit: int
    explain: bool


class _AdviceArgumentsCandidateToolsItem2(TypedDict):
    toolId: str


class AdviceArgumentsCandidateToolsItem2(_AdviceArgumentsCandidateToolsItem2, total=False):
    description: str
    sideEffects: bool
    costUsd: float
    latencyMs: float


class AdviceArgumentsConstraints(TypedDict, total=False):
    maxCostUsd: float
    maxLatencyMs: float
    forbidSideEffects: bool


class _AdviceRequest(TypedDict):
    taskClass: str
    taskIntent: str
    sourceEventId: str


class AdviceRequest(_AdviceRequest, total=False):
    runId: str | None
    scope: Any
    policySourceRef: str | None
    candidateTools: list[str | AdviceRequestCandidateToolsItem2]
    constraints: AdviceRequestConstraints
    limit: int
    explain: bool


class _AdviceRequestCandidateToolsItem2(TypedDict):
    toolId: str


class AdviceRequestCandidateToolsItem2(_AdviceRequestCandidateToolsItem2, total=False):
    description: str
    sideEffects: bool
    costUsd: float
    latencyMs: float


class AdviceRequestConstraints(TypedDict, total=False):
    maxCostUsd: float
    maxLatencyMs: float
    forbidSideEffects: bool


class AuditList(TypedDict):
    entries: list[AuditListEntriesItem]
    nextCursor: str | None


class AuditListEntriesItem(TypedDict):
    id: str
    seq: int
    at: str
    actor: str
    action: str
    subject: str
    outcome: str
    database: str | None
    hash: str
    redacted: bool
    requestId: str | None
    prevHash: str | None


CognitiveConfig: TypeAlias = "Mapping[str, Any]"


class CognitiveConfigInForce(TypedDict):
    warnings: list[CognitiveConfigInForceWarningsItem]


class CognitiveConfigInForceWarningsItem(TypedDict):
    key: str
    problem: str
    using: Any


class CognitiveConfigUpdate(TypedDict):
    ok: Literal[True]
    config: dict[str, Any]
    version: int
    warnings: list[CognitiveConfigUpdateWarningsItem]


class CognitiveConfigUpdateWarningsItem(TypedDict):
    key: str
    problem: str
    using: Any


class CognitiveHealth(TypedDict):
    status: Literal["ok", "degraded"] | str
    service: Literal["cognitive"]
    enabled: bool
    loop: CognitiveHealthLoop
    lastCycle: CognitiveHealthLastCycle | None
    backlog: CognitiveHealthBacklog
    attempts: CognitiveHealthAttempts


class CognitiveHealthAttempts(TypedDict):
    total: int
    failed: int
    consecutiveFailures: int
    lastFailureAt: str | None
    lastFailureCode: str | None


class CognitiveHealthBacklog(TypedDict):
    projections: int
    oldestAgeMs: int | None


class CognitiveHealthLastCycle(TypedDict):
    seq: int
    completedAt: str


class CognitiveHealthLoop(TypedDict):
    state: Literal["off", "idle", "due"] | str
    lastTickAt: str | None
    nextTickAt: str | None
    lagMs: int
    stalled: bool


class CognitiveSettings(TypedDict):
    config: dict[str, Any]
    version: int
    warnings: list[CognitiveSettingsWarningsItem]
    settings: list[CognitiveSettingsSettingsItem]


class CognitiveSettingsSettingsItem(TypedDict):
    key: str
    value: Any
    default: Any
    range: str
    schema: dict[str, Any]


class CognitiveSettingsWarningsItem(TypedDict):
    key: str
    problem: str
    using: Any


class ConductorEndpoints(TypedDict):
    endpoints: list[str]
    total: int


class CoveredWord(TypedDict):
    word: str
    covered: float
    by: str | None


class _Cycle(TypedDict):
    completedAt: str
    id: str
    seq: int
    status: Literal["completed"]
    trigger: Literal["api", "schedule", "pressure", "mcp"] | str
    database: str
    requestedBy: str | None
    focus: str | None
    startedAt: str
    durationMs: int
    phases: list[CyclePhasesItem]
    decisions: CycleDecisions
    threshold: CycleThreshold | None
    summary: str
    broadcast: list[CycleBroadcastItem]
    decisionsUrl: str
    workingMemory: CycleWorkingMemory
    configVersion: int
    engine: CycleEngine
    dryRun: bool
    warnings: list[CycleWarningsItem]
    prevHash: str | None
    hash: str
    metadata: dict[str, Any] | None


class Cycle(_Cycle, total=False):
    ledger: list[CycleDecision]
    redacted: Literal[True]


class CycleArguments(TypedDict, total=False):
    focus: str | None
    limits: CycleArgumentsLimits
    dry_run: bool
    metadata: Mapping[str, Any]


class CycleArgumentsLimits(TypedDict, total=False):
    maxDurationMs: int
    maxEvents: int
    queueMs: int


class CycleBroadcastItem(TypedDict):
    kind: Literal["slot", "record"] | str
    ref: str
    score: float


class CycleCorruption(TypedDict):
    detected: bool
    count: int
    status: Literal["clean", "quarantined", "unknown"] | str
    checkedThroughSeq: int | None
    verifiedAt: str | None
    method: Literal["sha256-chain"]
    entries: list[CycleCorruptionEntriesItem]


class CycleCorruptionEntriesItem(TypedDict):
    ref: str | None
    seq: int | None
    reason: Literal["digest_mismatch", "chain_break", "undecodable", "missing", "page_unreadable"] | str
    quarantinedAt: str
    recoverable: bool


class _CycleDecision(TypedDict):
    seq: int
    action: str
    subject: CycleDecisionSubject
    reasonCode: str
    reason: str
    score: float
    parts: list[CycleDecisionPartsItem]
    evidenceRefs: list[str]
    rule: str
    recoverableUntil: str | None


class CycleDecision(_CycleDecision, total=False):
    displacedBy: str


class CycleDecisionPartsItem(TypedDict):
    name: str
    value: float
    weight: float
    contribution: float


class CycleDecisionSubject(TypedDict):
    kind: str
    key: str | None
    version: int | None


class CycleDecisions(TypedDict):
    decisions: list[CycleDecision]
    nextCursor: str | None


class CycleEngine(TypedDict):
    version: str
    deterministic: Literal[True]
    seed: str


class CycleFilter(TypedDict, total=False):
    limit: int
    since: str
    until: str


CyclePhasesItem = TypedDict(
    "CyclePhasesItem",
    {
        "name": "Literal[\"perceive\", \"cue\", \"recall\", \"compete\", \"broadcast\", \"learn\"] | str",
        "startMs": "float",
        "durationMs": "float",
        "in": "int",
        "out": "int",
    },
)


CycleRan: TypeAlias = "Cycle | PrunedCycle"


class CycleRun(TypedDict, total=False):
    focus: str | None
    observations: list[Observation]
    limits: CycleRunLimits
    dryRun: bool
    metadata: Mapping[str, Any]


class CycleRunLimits(TypedDict, total=False):
    maxDurationMs: int
    maxEvents: int
    queueMs: int


class CycleStats(TypedDict):
    totalCycles: int
    completedCycles: int
    failedCycles: Literal[0]
    averageDurationMs: int
    lastCycleAt: str
    corruption: CycleCorruption
    attempts: CycleStatsAttempts


class CycleStatsAttempts(TypedDict):
    total: int
    failed: int
    consecutiveFailures: int
    lastFailureAt: str | None
    lastFailureCode: str | None


class CycleThreshold(TypedDict):
    best: float
    bar: float


class CycleWarningsItem(TypedDict):
    key: str
    problem: str
    using: Any


class CycleWorkingMemory(TypedDict):
    before: CycleWorkingMemoryBefore
    after: CycleWorkingMemoryAfter


class CycleWorkingMemoryAfter(TypedDict):
    slotCount: int
    digest: str


class CycleWorkingMemoryBefore(TypedDict):
    slotCount: int
    digest: str


class Cycles(TypedDict):
    cycles: list[Cycle]
    total: int
    corruption: CycleCorruption
    nextCursor: str | None


class DatabaseDeleted(TypedDict):
    deleted: Literal[True]
    name: str
    receipt: str | None
    ledgered: Literal["cell", "management"] | str


class DatabaseErasing(TypedDict):
    deleted: Literal[False]
    erasing: Literal[True]
    name: str
    receipt: str | None
    ledgered: Literal["cell", "management"] | str


class DatabaseList(TypedDict):
    databases: list[DatabaseListDatabasesItem]
    nextCursor: str | None


class DatabaseListDatabasesItem(TypedDict):
    name: str
    records: int
    slots: int
    keys: int
    bytes: int
    createdAt: str


class DeniedTool(TypedDict):
    toolId: str
    reasonCode: Literal["policy", "failure_budget", "constraint"] | str
    rule: Any
    detail: str


class Entry(TypedDict):
    key: str
    value: Any
    version: int
    createdAt: str
    updatedAt: str
    expiresAt: str | None
    digest: str


class EntryArguments(TypedDict, total=False):
    ttl_ms: int


class EntryBatch(TypedDict):
    operations: list[EntryBatchOperationsItem | EntryBatchOperationsItem2]


class _EntryBatchOperationsItem(TypedDict):
    op: Literal["put"]
    key: str
    value: Any


class EntryBatchOperationsItem(_EntryBatchOperationsItem, total=False):
    ifVersion: int
    ttlMs: int


class _EntryBatchOperationsItem2(TypedDict):
    op: Literal["delete"]
    key: str


class EntryBatchOperationsItem2(_EntryBatchOperationsItem2, total=False):
    ifVersion: int


class EntryBatchResult(TypedDict):
    results: list[EntryBatchResultResultsItem]


class _EntryBatchResultResultsItem(TypedDict):
    op: Literal["put", "delete"] | str
    key: str
    version: int


class EntryBatchResultResultsItem(_EntryBatchResultResultsItem, total=False):
    deleted: bool
    expiresAt: str | None
    digest: str


class EntryDeleted(TypedDict):
    deleted: Literal[True]
    key: str
    version: int


class EntryFilter(TypedDict, total=False):
    prefix: str
    limit: int
    order: Literal["asc", "desc"]
    keys_only: Literal["true", "false"]


class _EntryList(TypedDict):
    entries: list[EntryListEntriesItem]
    nextCursor: str | None


class EntryList(_EntryList, total=False):
    damaged: list[EntryListDamagedItem]


class EntryListDamagedItem(TypedDict):
    ref: str | None
    reason: Literal["digest_mismatch", "page_unreadable"] | str


class _EntryListEntriesItem(TypedDict):
    key: str
    version: int
    createdAt: str
    updatedAt: str
    expiresAt: str | None
    digest: str


class EntryListEntriesItem(_EntryListEntriesItem, total=False):
    value: Any


class _EntryWrite(TypedDict):
    value: Any


class EntryWrite(_EntryWrite, total=False):
    ttlMs: int


class _EvictionList(TypedDict):
    evictions: list[EvictionListEvictionsItem]
    nextCursor: str | None


class EvictionList(_EvictionList, total=False):
    damaged: list[EvictionListDamagedItem]


class EvictionListDamagedItem(TypedDict):
    ref: str | None
    reason: Literal["digest_mismatch", "page_unreadable"] | str


class _EvictionListEvictionsItem(TypedDict):
    seq: int
    key: str
    version: int
    reasonCode: str
    reason: str
    displacedBy: str | None
    policy: str | None
    explain: Explanation
    evictedAt: str
    recoverableUntil: str


class EvictionListEvictionsItem(_EvictionListEvictionsItem, total=False):
    value: Any
    recordId: str | None
    redacted: Literal[True]


class Explanation(TypedDict):
    score: float
    parts: list[ExplanationPartsItem]


class ExplanationPartsItem(TypedDict):
    name: str
    value: float
    weight: float
    contribution: float


class GetAdminAuditQuery(TypedDict, total=False):
    cursor: str
    limit: int


class GetV1AuditQuery(TypedDict, total=False):
    cursor: str
    limit: int


class GetV1CognitiveCyclesIdDecisionsQuery(TypedDict, total=False):
    limit: int
    cursor: str


class GetV1CognitiveCyclesQuery(TypedDict, total=False):
    limit: int
    cursor: str
    since: str
    until: str


class GetV1CognitiveTimelineQuery(TypedDict, total=False):
    since: str
    until: str
    content: Literal["true", "false"]
    cursor: str
    limit: int


class GetV1DatabasesQuery(TypedDict, total=False):
    cursor: str
    limit: int


class GetV1KvConsistencyQuery(TypedDict, total=False):
    mode: Literal["incremental", "full"]
    cursor: str


class GetV1KvEntriesQuery(TypedDict, total=False):
    prefix: str
    cursor: str
    limit: int
    order: Literal["asc", "desc"]
    keysOnly: Literal["true", "false"]


class GetV1MemoryRecordsQuery(TypedDict, total=False):
    tag: str
    kind: str
    actor: str
    contextId: str
    key: str
    since: str
    until: str
    order: Literal["asc", "desc"]
    cursor: str
    limit: int


class GetV1WorkingMemoryEvictionsQuery(TypedDict, total=False):
    cursor: str
    limit: int
    content: Literal["true", "false"]


class GetV1WorkingMemorySlotsKeyHistoryQuery(TypedDict, total=False):
    cursor: str
    limit: int


class HealthAllResponse(TypedDict):
    status: Literal["ok", "degraded", "starting", "draining"] | str
    checks: dict[str, HealthAllResponseChecksValue]
    latencyMs: int
    timestamp: str


class _HealthAllResponseChecksValue(TypedDict):
    status: str


class HealthAllResponseChecksValue(_HealthAllResponseChecksValue, total=False):
    latencyMs: float
    detail: str


class HealthResponse(TypedDict):
    status: Literal["ok"]


class KvConsistency(TypedDict):
    status: Literal["consistent", "inconsistent", "unknown"] | str
    mode: Literal["incremental", "full"] | str
    summary: KvConsistencySummary
    checks: list[KvConsistencyChecksItem]
    issues: list[KvConsistencyIssuesItem]
    rootDigest: str
    coverage: KvConsistencyCoverage
    startedAt: str
    durationMs: int


class KvConsistencyChecksItem(TypedDict):
    name: str
    checked: int
    failed: int


class KvConsistencyCoverage(TypedDict):
    complete: bool
    nextCursor: str | None
    rowsTotal: int


class KvConsistencyIssuesItem(TypedDict):
    severity: str
    type: str
    domain: str
    database: str
    ref: str | None
    detail: str
    repair: str


class KvConsistencySummary(TypedDict):
    rows: int
    bytes: int
    issues: int


class _KvHealth(TypedDict):
    status: Literal["ok", "degraded", "failed"] | str
    engine: Literal["postgresql"]
    engineVersion: str | None
    schemaVersion: int | None
    probe: KvHealthProbe
    durability: KvHealthDurability
    replication: list[KvHealthReplicationItem]
    databases: list[KvHealthDatabasesItem]
    latencyMs: float
    checkedAt: str


class KvHealth(_KvHealth, total=False):
    detail: str


class KvHealthDatabasesItem(TypedDict):
    name: str
    keys: int
    bytes: int


class KvHealthDurability(TypedDict):
    fsync: str | None
    synchronousCommit: str | None
    dataChecksums: str | None


class KvHealthProbe(TypedDict):
    writeMs: float | None
    commitMs: float | None
    readMs: float | None


class KvHealthReplicationItem(TypedDict):
    name: str
    state: str
    lagBytes: float | None
    sync: str


class LifecycleStatus(TypedDict):
    state: Literal["starting", "migrating", "warming", "ready", "degraded", "draining", "stopped", "failed"] | str
    since: str
    acceptingRequests: bool
    reasons: list[str]
    transitions: list[LifecycleStatusTransitionsItem]
    drain: LifecycleStatusDrain


class LifecycleStatusDrain(TypedDict):
    deadline: str | None
    inFlight: int


LifecycleStatusTransitionsItem = TypedDict(
    "LifecycleStatusTransitionsItem",
    {
        "from": "Literal[\"starting\", \"migrating\", \"warming\", \"ready\", \"degraded\", \"draining\", \"stopped\", \"failed\"] | str | None",
        "to": "Literal[\"starting\", \"migrating\", \"warming\", \"ready\", \"degraded\", \"draining\", \"stopped\", \"failed\"] | str",
        "at": "str",
        "reason": "str",
    },
)


class MemoryFilter(TypedDict, total=False):
    tag: str
    kind: str
    actor: str
    context_id: str
    key: str
    since: str
    until: str
    order: Literal["asc", "desc"]
    limit: int


class _NamedRecord(TypedDict):
    id: str
    standing: Literal["result", "below", "crowded_out", "no_evidence", "filtered", "superseded", "archived", "later", "not_indexed", "damaged", "missing"] | str
    reason: str
    filteredBy: list[str]
    rank: int | None
    among: int | None
    relevance: float | None
    needs: float | None
    score: float | None
    content: str | None
    explain: NamedRecordExplain | None


class NamedRecord(_NamedRecord, total=False):
    database: str


class NamedRecordExplain(TypedDict):
    score: float
    parts: list[NamedRecordExplainPartsItem]
    words: list[CoveredWord]


class NamedRecordExplainPartsItem(TypedDict):
    name: str
    value: float
    weight: float
    contribution: float


class _Observation(TypedDict):
    content: str


class Observation(_Observation, total=False):
    key: str
    contextId: str
    actor: str
    occurredAt: str
    media: str
    kind: str
    tags: list[str]
    evidenceRefs: list[str]
    sourceEventId: str
    supersedes: str
    salience: float
    dueAt: str
    ttlMs: int
    metadata: Mapping[str, Any]


class _OutcomeArguments(TypedDict):
    task_class: str


class OutcomeArguments(_OutcomeArguments, total=False):
    task_intent: str
    scope: Any
    run_id: str
    source_event_id: str
    occurred_at: str
    evidence_refs: list[str]


OutcomeReport: TypeAlias = "OutcomeWrite | list[OutcomeWrite]"


class OutcomeResult(TypedDict):
    accepted: Literal[True]
    projectionId: str
    duplicate: bool
    appliedSeq: int


OutcomeResults: TypeAlias = "OutcomeResult | list[OutcomeResult]"


class _OutcomeWrite(TypedDict):
    taskClass: str
    tools: list[OutcomeWriteToolsItem]


class OutcomeWrite(_OutcomeWrite, total=False):
    taskIntent: str
    scope: Any
    runId: str
    sourceEventId: str
    occurredAt: str
    evidenceRefs: list[str]


class _OutcomeWriteToolsItem(TypedDict):
    toolId: str
    outcome: Literal["success", "failure", "partial", "denied", "cancelled"]


class OutcomeWriteToolsItem(_OutcomeWriteToolsItem, total=False):
    latencyMs: float
    costUsd: float
    errorCode: str


class Policy(TypedDict):
    name: str
    ref: str
    version: int
    rules: list[PolicyRule]


class PolicyList(TypedDict):
    policies: list[PolicyListPoliciesItem]
    nextCursor: None


class PolicyListPoliciesItem(TypedDict):
    name: str
    ref: str
    version: int


class _PolicyRule(TypedDict):
    effect: Literal["deny", "allow"] | str
    tool: str


class PolicyRule(_PolicyRule, total=False):
    taskClass: str
    scope: Any
    sideEffects: bool
    failureBudget: float
    reason: str


class _PolicyRuleGiven(TypedDict):
    effect: Literal["deny", "allow"]
    tool: str


class PolicyRuleGiven(_PolicyRuleGiven, total=False):
    taskClass: str
    scope: Any
    sideEffects: bool
    failureBudget: float
    reason: str


class PolicyWrite(TypedDict):
    rules: list[PolicyRuleGiven]


class PostV1WorkingMemorySlotsClearQuery(TypedDict, total=False):
    dryRun: Literal["true", "false"]
    includePinned: Literal["true", "false"]


class _Projection(TypedDict):
    projection_class: Literal["event", "tool_outcome", "fact", "preference", "retraction"]
    source_event_id: str


class Projection(_Projection, total=False):
    projection_id: str
    source_system: str
    occurred_at: str
    run_id: str
    task_class: str
    task_intent: str
    scope: Any
    tools: list[ProjectionToolsItem]
    payload: Any
    evidence_refs: list[str]
    supersedes: str
    confidence: float
    ttl_ms: int


ProjectionIngest: TypeAlias = "Projection | list[Projection]"


class ProjectionResult(TypedDict):
    accepted: Literal[True]
    projectionId: str
    projectionClass: str
    sourceEventId: str
    lociNamespace: str
    appliedSeq: int
    duplicate: bool


ProjectionResults: TypeAlias = "ProjectionResult | list[ProjectionResult]"


class _ProjectionToolsItem(TypedDict):
    tool_id: str
    outcome: Literal["success", "failure", "partial", "denied", "cancelled"]


class ProjectionToolsItem(_ProjectionToolsItem, total=False):
    latency_ms: float
    cost_usd: float
    error_code: str


class ProtectedResource(TypedDict):
    resource: str
    authorization_servers: list[str]
    scopes_supported: list[str]
    bearer_methods_supported: list[str]
    resource_name: str


class PrunedCycle(TypedDict):
    id: str
    redacted: Literal[True]


class RankedTool(TypedDict):
    toolId: str
    rank: int
    score: float
    confidence: RankedToolConfidence
    stats: RankedToolStats
    coldStart: bool
    reasons: list[str]
    explain: RankedToolExplain | None
    evidence: list[RankedToolEvidenceItem]


class RankedToolConfidence(TypedDict):
    lower95: float
    upper95: float
    effective: RankedToolConfidenceEffective


class RankedToolConfidenceEffective(TypedDict):
    successes: float
    failures: float


class RankedToolEvidenceItem(TypedDict):
    projectionId: str
    outcome: str
    evidenceRefs: list[str]


class RankedToolExplain(TypedDict):
    score: float
    parts: list[RankedToolExplainPartsItem]
    partners: list[RankedToolExplainPartnersItem]


class RankedToolExplainPartnersItem(TypedDict):
    partner: str
    attempts: int
    successes: int
    failures: int


class RankedToolExplainPartsItem(TypedDict):
    name: Literal["text", "reliability", "explore", "health"] | str
    value: float
    weight: float
    contribution: float


class RankedToolStats(TypedDict):
    attempts: int
    successes: int
    failures: int
    lastOutcomeAt: str | None


class ReadyResponse(TypedDict):
    status: Literal["ok", "degraded"] | str


class RecallArguments(TypedDict, total=False):
    limit: int
    abstain: bool
    min_relevance: float
    min_score: float
    databases: list[str]
    kinds: list[str]
    tags: list[str]
    actors: list[str]
    context_ids: list[str]
    keys: list[str]
    metadata: Mapping[str, Any]
    since: str
    until: str
    as_of: str
    token_budget: int
    record_ids: list[str]
    cursor: str
    explain: bool


class _RecallRequest(TypedDict):
    query: str


class RecallRequest(_RecallRequest, total=False):
    limit: int
    abstain: bool
    minRelevance: float
    minScore: float
    databases: list[str]
    kinds: list[str]
    tags: list[str]
    actors: list[str]
    contextIds: list[str]
    keys: list[str]
    metadata: Mapping[str, Any]
    since: str
    until: str
    asOf: str
    tokenBudget: int
    recordIds: list[str]
    cursor: str
    explain: bool


class _RecallResult(TypedDict):
    results: list[RecallResultResultsItem]
    abstained: bool
    nextCursor: str | None
    total: int
    incomplete: bool
    asOfSeq: int
    tookMs: float


class RecallResult(_RecallResult, total=False):
    reason: str
    nearest: list[RecallResultNearestItem]
    abstention: RecallResultAbstention
    named: list[NamedRecord]
    damaged: list[RecallResultDamagedItem]


class RecallResultAbstention(TypedDict):
    best: float
    threshold: float | None


class RecallResultDamagedItem(TypedDict):
    ref: str | None
    reason: Literal["digest_mismatch", "page_unreadable"] | str


class _RecallResultNearestItem(TypedDict):
    id: str
    relevance: float


class RecallResultNearestItem(_RecallResultNearestItem, total=False):
    database: str
    content: str
    explain: RecallResultNearestItemExplain


class RecallResultNearestItemExplain(TypedDict):
    score: float
    parts: list[RecallResultNearestItemExplainPartsItem]
    words: list[CoveredWord]


class RecallResultNearestItemExplainPartsItem(TypedDict):
    name: str
    value: float
    weight: float
    contribution: float


class _RecallResultResultsItem(TypedDict):
    id: str
    key: str | None
    content: str
    kind: str
    relevance: float
    score: float
    explain: RecallResultResultsItemExplain | None
    evidenceRefs: list[str]
    tags: list[str]
    contextId: str | None
    actor: str | None
    metadata: dict[str, Any] | None
    source: RecallResultResultsItemSource
    createdAt: str
    occurredAt: str | None
    validFrom: str
    validTo: str | None
    version: int


class RecallResultResultsItem(_RecallResultResultsItem, total=False):
    database: str


class RecallResultResultsItemExplain(TypedDict):
    score: float
    parts: list[RecallResultResultsItemExplainPartsItem]
    words: list[CoveredWord]


class RecallResultResultsItemExplainPartsItem(TypedDict):
    name: str
    value: float
    weight: float
    contribution: float


class RecallResultResultsItemSource(TypedDict):
    type: str
    ref: str | None
    actor: str | None
    trust: str


class Record(TypedDict):
    id: str
    key: str | None
    content: str
    kind: str
    contextId: str | None
    actor: str | None
    occurredAt: str | None
    media: str | None
    tags: list[str]
    evidenceRefs: list[str]
    sourceEventId: str | None
    salience: float
    salienceHint: float
    dueAt: str | None
    metadata: dict[str, Any] | None
    source: RecordSource
    version: int
    createdAt: str
    validFrom: str
    validTo: str | None
    archivedAt: str | None
    expiresAt: str | None
    digest: str


class RecordArguments(TypedDict, total=False):
    key: str
    context_id: str
    actor: str
    occurred_at: str
    media: str
    kind: str
    tags: list[str]
    evidence_refs: list[str]
    source_event_id: str
    supersedes: str
    salience: float
    due_at: str
    ttl_ms: int
    metadata: Mapping[str, Any]
    override: bool


class RecordBatch(TypedDict):
    records: list[RecordWrite]


class RecordBatchResult(TypedDict):
    records: list[RecordStored]


class RecordDeleted(TypedDict):
    deleted: Literal[True]
    id: str
    tombstone: str
    checked: list[RecordDeletedCheckedItem]
    receipt: str
    ledgered: Literal["cell", "management"] | str
    deletedAt: str


class RecordDeletedCheckedItem(TypedDict):
    place: str
    found: int
    erased: int


class _RecordList(TypedDict):
    records: list[Record]
    nextCursor: str | None
    total: int
    totalIsAtLeast: bool


class RecordList(_RecordList, total=False):
    damaged: list[RecordListDamagedItem]


class RecordListDamagedItem(TypedDict):
    ref: str | None
    reason: Literal["digest_mismatch", "page_unreadable"] | str


class RecordRead(TypedDict):
    ids: list[str]


class RecordSource(TypedDict):
    type: str
    ref: str | None
    actor: str | None
    trust: str


RecordStored: TypeAlias = "Record | RedactedRecord"


class RecordTrace(TypedDict):
    supersedes: list[str]
    supersededBy: str | None
    presentations: RecordTracePresentations
    slot: RecordTraceSlot | None
    decisions: list[RecordTraceDecisionsItem] | None
    complete: bool


class RecordTraceDecisionsItem(TypedDict):
    cycleSeq: int
    at: str
    action: str
    reasonCode: str
    reason: str
    score: float


class RecordTracePresentations(TypedDict):
    n: int
    first: str
    last: str


class RecordTraceSlot(TypedDict):
    key: str
    since: str
    activation: float
    pinned: bool


class _RecordWrite(TypedDict):
    content: str


class RecordWrite(_RecordWrite, total=False):
    key: str
    contextId: str
    actor: str
    occurredAt: str
    media: str
    kind: str
    tags: list[str]
    evidenceRefs: list[str]
    sourceEventId: str
    supersedes: str
    salience: float
    dueAt: str
    ttlMs: int
    metadata: Mapping[str, Any]
    override: bool


class _RecordsRead(TypedDict):
    records: list[Record]
    missing: list[str]


class RecordsRead(_RecordsRead, total=False):
    left: list[str]
    damaged: list[RecordsReadDamagedItem]


class RecordsReadDamagedItem(TypedDict):
    ref: str | None
    reason: Literal["digest_mismatch", "page_unreadable"] | str


class RedactedRecord(TypedDict):
    id: str
    redacted: Literal[True]


class RevocationRequest(TypedDict, total=False):
    jti: str
    org: str
    ten: str
    svc: str
    not_before: str


class RevocationResponse(TypedDict):
    revoked: Literal[True]
    audit_id: str


class Slot(TypedDict):
    id: str
    key: str
    kind: str
    value: Any
    recordId: str | None
    version: int
    etag: str
    activation: float
    salience: float
    pinned: bool
    ephemeral: bool
    ttlMs: int | None
    expiresAt: str | None
    createdAt: str
    updatedAt: str
    lastAccessedAt: str | None
    accessCount: int
    sizeBytes: int
    source: SlotSource
    explain: Explanation
    evidenceRefs: list[str]
    tags: list[str]
    digest: str


class SlotArguments(TypedDict, total=False):
    kind: str
    salience: float
    pinned: bool
    ttl_ms: int | None
    tags: list[str]
    evidence_refs: list[str]
    ephemeral: bool


class SlotBatch(TypedDict):
    operations: list[SlotBatchOperationsItem | SlotBatchOperationsItem2]


class _SlotBatchOperationsItem(TypedDict):
    op: Literal["put"]
    key: str
    value: Any


class SlotBatchOperationsItem(_SlotBatchOperationsItem, total=False):
    ifVersion: int
    kind: str
    salience: float
    pinned: bool
    ttlMs: int | None
    tags: list[str]
    evidenceRefs: list[str]
    ephemeral: bool


class _SlotBatchOperationsItem2(TypedDict):
    op: Literal["delete"]
    key: str


class SlotBatchOperationsItem2(_SlotBatchOperationsItem2, total=False):
    ifVersion: int


class SlotBatchResult(TypedDict):
    results: list[SlotBatchResultResultsItem]


class _SlotBatchResultResultsItem(TypedDict):
    op: Literal["put", "delete"] | str
    key: str
    version: int


class SlotBatchResultResultsItem(_SlotBatchResultResultsItem, total=False):
    deleted: bool
    expiresAt: str | None
    digest: str
    evicted: list[SlotBatchResultResultsItemEvictedItem]


class SlotBatchResultResultsItemEvictedItem(TypedDict):
    key: str
    reasonCode: str
    reason: str
    displacedBy: str | None
    explain: Explanation


class SlotChanges(TypedDict, total=False):
    value: Any
    kind: str | None
    salience: float | None
    pinned: bool | None
    ttl_ms: int | None
    tags: list[str] | None
    evidence_refs: list[str] | None
    ephemeral: bool | None


SlotConfig: TypeAlias = "Mapping[str, Any]"


class SlotConfigInForce(TypedDict):
    warnings: list[SlotConfigInForceWarningsItem]


class SlotConfigInForceWarningsItem(TypedDict):
    key: str
    problem: str
    using: Any


class SlotConfigUpdate(TypedDict):
    ok: Literal[True]
    config: dict[str, Any]
    version: int
    warnings: list[SlotConfigUpdateWarningsItem]


class SlotConfigUpdateWarningsItem(TypedDict):
    key: str
    problem: str
    using: Any


class SlotDeleted(TypedDict):
    deleted: Literal[True]
    key: str
    version: int


class _SlotHistory(TypedDict):
    versions: list[Slot]
    nextCursor: str | None


class SlotHistory(_SlotHistory, total=False):
    damaged: list[SlotHistoryDamagedItem]


class SlotHistoryDamagedItem(TypedDict):
    ref: str | None
    reason: Literal["digest_mismatch", "page_unreadable"] | str


class _SlotList(TypedDict):
    slots: list[Slot]
    count: int
    capacity: int
    asOfSeq: int


class SlotList(_SlotList, total=False):
    damaged: list[SlotListDamagedItem]


class SlotListDamagedItem(TypedDict):
    ref: str | None
    reason: Literal["digest_mismatch", "page_unreadable"] | str


class SlotPatch(TypedDict, total=False):
    value: Any
    kind: str | None
    salience: float | None
    pinned: bool | None
    ttlMs: int | None
    tags: list[str] | None
    evidenceRefs: list[str] | None
    ephemeral: bool | None


SlotRestore: TypeAlias = "SlotRestoreValue | SlotRestoreValue2"


class SlotRestoreValue(TypedDict):
    undoToken: str


class SlotRestoreValue2(TypedDict):
    key: str
    version: int


class SlotSettings(TypedDict):
    config: dict[str, Any]
    version: int
    warnings: list[SlotSettingsWarningsItem]
    settings: list[SlotSettingsSettingsItem]


class SlotSettingsSettingsItem(TypedDict):
    key: str
    value: Any
    default: Any
    range: str
    schema: dict[str, Any]


class SlotSettingsWarningsItem(TypedDict):
    key: str
    problem: str
    using: Any


class SlotSource(TypedDict):
    type: str
    ref: str | None
    actor: str | None
    trust: str


class SlotStatistics(TypedDict):
    slotCount: int
    capacity: int
    utilizationPct: float
    pinned: int
    bytes: int
    evictions: int


class _SlotWrite(TypedDict):
    value: Any


class SlotWrite(_SlotWrite, total=False):
    kind: str
    salience: float
    pinned: bool
    ttlMs: int | None
    tags: list[str]
    evidenceRefs: list[str]
    ephemeral: bool


class SlotWritten(TypedDict):
    id: str
    key: str
    kind: str
    value: Any
    recordId: str | None
    version: int
    etag: str
    activation: float
    salience: float
    pinned: bool
    ephemeral: bool
    ttlMs: int | None
    expiresAt: str | None
    createdAt: str
    updatedAt: str
    lastAccessedAt: str | None
    accessCount: int
    sizeBytes: int
    source: SlotWrittenSource
    explain: Explanation
    evidenceRefs: list[str]
    tags: list[str]
    digest: str
    evicted: list[SlotWrittenEvictedItem]


class SlotWrittenEvictedItem(TypedDict):
    key: str
    reasonCode: str
    reason: str
    displacedBy: str | None
    explain: Explanation


class SlotWrittenSource(TypedDict):
    type: str
    ref: str | None
    actor: str | None
    trust: str


class SlotsCleared(TypedDict):
    ok: Literal[True]
    cleared: int
    retained: int
    retainedKeys: list[str]
    clearedAt: str
    asOfSeq: int
    dryRun: bool
    undo: SlotsClearedUndo | None


class SlotsClearedUndo(TypedDict):
    token: str
    expiresAt: str


class SlotsRestored(TypedDict):
    ok: Literal[True]
    restored: int
    slots: list[Slot | SlotsRestoredSlotsItem2]
    missing: list[str]
    evicted: list[SlotsRestoredEvictedItem]


class SlotsRestoredEvictedItem(TypedDict):
    key: str
    reasonCode: str
    reason: str
    displacedBy: str | None
    explain: Explanation


class SlotsRestoredSlotsItem2(TypedDict):
    key: str
    version: int
    redacted: Literal[True]


class StartupResponse(TypedDict):
    status: Literal["ok"]
    services: dict[str, str]


class SwitchRequest(TypedDict, total=False):
    services: list[str]
    service: str
    reason: str
    drain_timeout_ms: int
    auto_revert_ms: int
    dry_run: bool


class SwitchResponse(TypedDict):
    success: bool
    updates: list[SwitchResponseUpdatesItem]
    failed_services: list[SwitchResponseFailedServicesItem]


class SwitchResponseFailedServicesItem(TypedDict):
    service: str
    code: str
    message: str
    dependents: list[str]


class SwitchResponseUpdatesItem(TypedDict):
    service: str
    previous: Literal["enabled", "disabled"] | str
    current: Literal["enabled", "disabled"] | str
    changed: bool
    effective_at: str
    drained: bool
    audit_id: str | None


class SwitchStatus(TypedDict):
    services: list[SwitchStatusServicesItem]


class SwitchStatusServicesItem(TypedDict):
    name: str
    enabled: bool
    required: bool
    state: str
    since: str
    depends_on: list[str]
    in_flight: int
    requests_total: int
    errors_total: int
    last_error: SwitchStatusServicesItemLastError | None
    changed_by: str | None
    auto_revert_at: str | None


class SwitchStatusServicesItemLastError(TypedDict):
    code: str
    at: str
    request_id: str


class SystemInfo(TypedDict):
    version: str
    uptime: float
    build: Literal["release"]
    product: Literal["loci"]
    meaning: str


class Timeline(TypedDict):
    capacity: int
    cycles: list[TimelineCycle]
    items: list[TimelineItem]
    complete: bool
    damaged: list[TimelineDamagedItem]
    prunedBefore: str | None
    nextCursor: str | None


class TimelineCycle(TypedDict):
    seq: int
    id: str
    at: str
    trigger: Literal["api", "schedule", "pressure", "mcp"] | str
    focus: str | None
    counts: TimelineCycleCounts
    bar: float | None


class TimelineCycleCounts(TypedDict):
    admitted: int
    kept: int
    merged: int
    reinforced: int
    stored: int
    evicted: int
    consolidated: int
    forgotten: int
    rejected: int


class TimelineDamagedItem(TypedDict):
    kind: Literal["cycle", "decisions", "slot"] | str
    ref: str | None
    reason: Literal["digest_mismatch", "chain_break", "missing", "page_unreadable", "undecodable"] | str


_TimelineItem = TypedDict(
    "_TimelineItem",
    {
        "key": "str",
        "recordId": "str | None",
        "pinned": "bool",
        "from": "TimelineItemFrom | None",
        "to": "TimelineItemTo | None",
        "activation": "float | None",
        "scores": "list[list[int | float]]",
    },
)


class TimelineItem(_TimelineItem, total=False):
    text: str
    cut: Literal[True]
    redacted: Literal[True]


class TimelineItemFrom(TypedDict):
    at: str
    by: Literal["put", "observed", "recalled"] | str
    cycle: int | None


class TimelineItemTo(TypedDict):
    at: str
    reasonCode: str
    displacedBy: str | None
    cycle: int | None


class _ToolRankRequest(TypedDict):
    task_class: str
    task_intent: str
    source_event_id: str
    run_id: str
    scope: Any


class ToolRankRequest(_ToolRankRequest, total=False):
    policy_source_ref: str | None
    candidate_tools: list[str | ToolRankRequestCandidateToolsItem2]
    constraints: ToolRankRequestConstraints
    limit: int
    explain: bool


class _ToolRankRequestCandidateToolsItem2(TypedDict):
    tool_id: str


class ToolRankRequestCandidateToolsItem2(_ToolRankRequestCandidateToolsItem2, total=False):
    description: str
    side_effects: bool
    cost_usd: float
    latency_ms: float


class ToolRankRequestConstraints(TypedDict, total=False):
    max_cost_usd: float
    max_latency_ms: float
    forbid_side_effects: bool


class ToolRankResult(TypedDict):
    recommendationId: str
    taskClass: str
    taskIntent: str
    sourceEventId: str
    runId: str | None
    scope: Any
    rankedTools: list[RankedTool]
    evidenceRefs: list[str]
    evidenceTruncated: bool
    policy: ToolRankResultPolicy


class ToolRankResultPolicy(TypedDict):
    sourceRef: str
    deniedTools: list[DeniedTool]
    resolved: bool


class Daemon(Protocol):
    """Every route of daemon by its `METHOD /path`, typed."""

    @overload
    def call(
        self,
        name: Literal["GET /.well-known/oauth-protected-resource"],
        **options: Unpack[CallOptions],
    ) -> Answer[ProtectedResource]:
        """Read where a client of /mcp can ask a person for access."""

    @overload
    def call(
        self,
        name: Literal["GET /.well-known/oauth-protected-resource/mcp"],
        **options: Unpack[CallOptions],
    ) -> Answer[ProtectedResource]:
        """Read where a client of /mcp can ask a person for access."""

    @overload
    def call(
        self,
        name: Literal["GET /admin/audit"],
        *,
        query: GetAdminAuditQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[AdminAuditList]:
        """List audit entries of admin requests in this cell, newest first."""

    @overload
    def call(
        self,
        name: Literal["POST /admin/revocations"],
        *,
        body: RevocationRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[RevocationResponse]:
        """Revoke a capability, or every one that was issued before a moment."""

    @overload
    def call(
        self,
        name: Literal["POST /admin/services/disable"],
        *,
        body: SwitchRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[SwitchResponse]:
        """Disable sub-services in the whole cell."""

    @overload
    def call(
        self,
        name: Literal["POST /admin/services/enable"],
        *,
        body: SwitchRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[SwitchResponse]:
        """Enable sub-services in the whole cell."""

    @overload
    def call(
        self,
        name: Literal["GET /admin/services/status"],
        **options: Unpack[CallOptions],
    ) -> Answer[SwitchStatus]:
        """Read the switches of the cell, and what this replica has seen of each sub-service."""

    @overload
    def call(
        self,
        name: Literal["GET /docs"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Read the documentation as a page."""

    @overload
    def call(
        self,
        name: Literal["GET /health/live"],
        **options: Unpack[CallOptions],
    ) -> Answer[HealthResponse]:
        """Ask whether the process is alive."""

    @overload
    def call(
        self,
        name: Literal["GET /health/ready"],
        **options: Unpack[CallOptions],
    ) -> Answer[ReadyResponse]:
        """Ask whether requests should be sent here."""

    @overload
    def call(
        self,
        name: Literal["GET /health/startup"],
        **options: Unpack[CallOptions],
    ) -> Answer[StartupResponse]:
        """Ask whether the process has started, and in what state each part is."""

    @overload
    def call(
        self,
        name: Literal["POST /mcp"],
        *,
        body: Any,
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Send a message of the Model Context Protocol."""

    @overload
    def call(
        self,
        name: Literal["GET /metrics"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Read Prometheus metrics, at most a second old."""

    @overload
    def call(
        self,
        name: Literal["GET /openapi.json"],
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Read this document."""

    @overload
    def call(
        self,
        name: Literal["POST /v1/advice/outcomes"],
        *,
        body: OutcomeReport,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[OutcomeResults]:
        """Report the outcomes of tool calls, so that the next ranking learns from them."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/advice/policies"],
        **options: Unpack[CallOptions],
    ) -> Answer[PolicyList]:
        """List the policies of the database."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/advice/policies/{name}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Policy]:
        """Read a policy."""

    @overload
    def call(
        self,
        name: Literal["PUT /v1/advice/policies/{name}"],
        *,
        path: PathParameters,
        body: PolicyWrite,
        **options: Unpack[CallOptions],
    ) -> Answer[Policy]:
        """Write a policy."""

    @overload
    def call(
        self,
        name: Literal["POST /v1/advice/rank"],
        *,
        body: AdviceRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[ToolRankResult]:
        """Rank tools for a task by their outcomes, with a capability."""

    @overload
    def call(
        self,
        name: Literal["POST /v1/advice/tools:rank"],
        *,
        body: ToolRankRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[ToolRankResult]:
        """Rank tools for a task by their outcomes and a policy, as a partner."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/audit"],
        *,
        query: GetV1AuditQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[AuditList]:
        """List audit entries of this instance, newest first."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/cognitive/config"],
        **options: Unpack[CallOptions],
    ) -> Answer[CognitiveConfigInForce]:
        """Read the configuration in force."""

    @overload
    def call(
        self,
        name: Literal["PUT /v1/cognitive/config"],
        *,
        body: CognitiveConfig,
        **options: Unpack[CallOptions],
    ) -> Answer[CognitiveConfigUpdate]:
        """Replace the configuration of the database by any JSON object."""

    @overload
    def call(
        self,
        name: Literal["POST /v1/cognitive/cycles"],
        *,
        body: CycleRun = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CycleRan]:
        """Run a cognitive cycle."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/cognitive/cycles"],
        *,
        query: GetV1CognitiveCyclesQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Cycles]:
        """List cycles, newest first."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/cognitive/cycles/{id}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Cycle]:
        """Read a cycle."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/cognitive/cycles/{id}/decisions"],
        *,
        path: PathParameters,
        query: GetV1CognitiveCyclesIdDecisionsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CycleDecisions]:
        """List what a cycle decided, with the reasons."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/cognitive/health"],
        **options: Unpack[CallOptions],
    ) -> Answer[CognitiveHealth]:
        """Check whether cycles of the database run when they are due, and how attempts ended."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/cognitive/settings"],
        **options: Unpack[CallOptions],
    ) -> Answer[CognitiveSettings]:
        """Read the configuration in force with the default, the range and the schema of each known key."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/cognitive/stats"],
        **options: Unpack[CallOptions],
    ) -> Answer[CycleStats]:
        """Read how many cycles there were, and how long they took."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/cognitive/timeline"],
        *,
        query: GetV1CognitiveTimelineQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Timeline]:
        """Read which slots were in working memory over time, newest first."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/conductor/endpoints"],
        **options: Unpack[CallOptions],
    ) -> Answer[ConductorEndpoints]:
        """List the path of every registered route."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/databases"],
        *,
        query: GetV1DatabasesQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[DatabaseList]:
        """List the databases of the service with what each holds."""

    @overload
    def call(
        self,
        name: Literal["DELETE /v1/databases/{name}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[DatabaseDeleted | DatabaseErasing]:
        """Erase a database with all that it holds."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/health/all"],
        **options: Unpack[CallOptions],
    ) -> Answer[HealthAllResponse]:
        """Check every dependency and sub-service."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/health/live"],
        **options: Unpack[CallOptions],
    ) -> Answer[HealthResponse]:
        """Ask whether the process is alive."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/health/ready"],
        **options: Unpack[CallOptions],
    ) -> Answer[ReadyResponse]:
        """Ask whether requests should be sent here."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/health/startup"],
        **options: Unpack[CallOptions],
    ) -> Answer[StartupResponse]:
        """Ask whether the process has started, and in what state each part is."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/kv/consistency"],
        *,
        query: GetV1KvConsistencyQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[KvConsistency]:
        """Verify the digests of entries and the counters of their databases."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/kv/entries"],
        *,
        query: GetV1KvEntriesQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[EntryList]:
        """List entries by key in order of code points, or backwards."""

    @overload
    def call(
        self,
        name: Literal["POST /v1/kv/entries/batch"],
        *,
        body: EntryBatch,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[EntryBatchResult]:
        """Put and delete several entries, all or nothing."""

    @overload
    def call(
        self,
        name: Literal["PUT /v1/kv/entries/{key}"],
        *,
        path: PathParameters,
        body: EntryWrite,
        **options: Unpack[CallOptions],
    ) -> Answer[Entry]:
        """Write an entry."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/kv/entries/{key}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Entry]:
        """Read an entry."""

    @overload
    def call(
        self,
        name: Literal["DELETE /v1/kv/entries/{key}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[EntryDeleted]:
        """Delete an entry."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/kv/health"],
        **options: Unpack[CallOptions],
    ) -> Answer[KvHealth]:
        """Check the store by writing, committing and reading back a probe."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/lifecycle/status"],
        **options: Unpack[CallOptions],
    ) -> Answer[LifecycleStatus]:
        """Read the state of the process, its reasons and past transitions."""

    @overload
    def call(
        self,
        name: Literal["POST /v1/memory/recall"],
        *,
        body: RecallRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[RecallResult]:
        """Recall what answers a question, best first, with the reasons."""

    @overload
    def call(
        self,
        name: Literal["POST /v1/memory/records"],
        *,
        body: RecordWrite,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[RecordStored]:
        """Store a memory."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/memory/records"],
        *,
        query: GetV1MemoryRecordsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[RecordList]:
        """List memories, newest first or oldest first."""

    @overload
    def call(
        self,
        name: Literal["POST /v1/memory/records/batch"],
        *,
        body: RecordBatch,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[RecordBatchResult]:
        """Store several memories, all or nothing."""

    @overload
    def call(
        self,
        name: Literal["POST /v1/memory/records/read"],
        *,
        body: RecordRead,
        **options: Unpack[CallOptions],
    ) -> Answer[RecordsRead]:
        """Read up to 100 memories by their ids."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/memory/records/{id}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Record]:
        """Read a memory, also one that was superseded."""

    @overload
    def call(
        self,
        name: Literal["DELETE /v1/memory/records/{id}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[RecordDeleted]:
        """Erase a memory and every copy of it."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/memory/records/{id}/trace"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[RecordTrace]:
        """Read the history of a memory, with what it replaced and when it was in working memory."""

    @overload
    def call(
        self,
        name: Literal["POST /v1/partner/projections"],
        *,
        body: ProjectionIngest,
        **options: Unpack[CallOptions],
    ) -> Answer[ProjectionResults]:
        """Ingest one event of a partner, or up to 500."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/system/info"],
        **options: Unpack[CallOptions],
    ) -> Answer[SystemInfo]:
        """Read version and uptime of the daemon, and which tables recall uses."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/working-memory/config"],
        **options: Unpack[CallOptions],
    ) -> Answer[SlotConfigInForce]:
        """Read the configuration in force."""

    @overload
    def call(
        self,
        name: Literal["PUT /v1/working-memory/config"],
        *,
        body: SlotConfig,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotConfigUpdate]:
        """Replace the configuration of the database by any JSON object."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/working-memory/evictions"],
        *,
        query: GetV1WorkingMemoryEvictionsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[EvictionList]:
        """List the slots that left, newest first, and why."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/working-memory/settings"],
        **options: Unpack[CallOptions],
    ) -> Answer[SlotSettings]:
        """Read the configuration in force with the default, the range and the schema of each known key."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/working-memory/slots"],
        **options: Unpack[CallOptions],
    ) -> Answer[SlotList]:
        """List the slots."""

    @overload
    def call(
        self,
        name: Literal["POST /v1/working-memory/slots/batch"],
        *,
        body: SlotBatch,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotBatchResult]:
        """Put and delete several slots, all or nothing."""

    @overload
    def call(
        self,
        name: Literal["POST /v1/working-memory/slots/clear"],
        *,
        query: PostV1WorkingMemorySlotsClearQuery = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotsCleared]:
        """Clear the slots that are not pinned."""

    @overload
    def call(
        self,
        name: Literal["POST /v1/working-memory/slots/restore"],
        *,
        body: SlotRestore,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotsRestored]:
        """Undo a clear by its token, or write a former version of a slot again."""

    @overload
    def call(
        self,
        name: Literal["PUT /v1/working-memory/slots/{key}"],
        *,
        path: PathParameters,
        body: SlotWrite,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotWritten]:
        """Write a slot."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/working-memory/slots/{key}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Slot]:
        """Read a slot."""

    @overload
    def call(
        self,
        name: Literal["PATCH /v1/working-memory/slots/{key}"],
        *,
        path: PathParameters,
        body: SlotPatch,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotWritten]:
        """Change a slot by a JSON merge patch."""

    @overload
    def call(
        self,
        name: Literal["DELETE /v1/working-memory/slots/{key}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotDeleted]:
        """Delete a slot."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/working-memory/slots/{key}/history"],
        *,
        path: PathParameters,
        query: GetV1WorkingMemorySlotsKeyHistoryQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotHistory]:
        """List every version of a slot, newest first, also of one that has left."""

    @overload
    def call(
        self,
        name: Literal["GET /v1/working-memory/stats"],
        **options: Unpack[CallOptions],
    ) -> Answer[SlotStatistics]:
        """Read how full the working memory is."""


class AsyncDaemon(Protocol):
    """Every route of daemon by its `METHOD /path`, typed."""

    @overload
    async def call(
        self,
        name: Literal["GET /.well-known/oauth-protected-resource"],
        **options: Unpack[CallOptions],
    ) -> Answer[ProtectedResource]:
        """Read where a client of /mcp can ask a person for access."""

    @overload
    async def call(
        self,
        name: Literal["GET /.well-known/oauth-protected-resource/mcp"],
        **options: Unpack[CallOptions],
    ) -> Answer[ProtectedResource]:
        """Read where a client of /mcp can ask a person for access."""

    @overload
    async def call(
        self,
        name: Literal["GET /admin/audit"],
        *,
        query: GetAdminAuditQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[AdminAuditList]:
        """List audit entries of admin requests in this cell, newest first."""

    @overload
    async def call(
        self,
        name: Literal["POST /admin/revocations"],
        *,
        body: RevocationRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[RevocationResponse]:
        """Revoke a capability, or every one that was issued before a moment."""

    @overload
    async def call(
        self,
        name: Literal["POST /admin/services/disable"],
        *,
        body: SwitchRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[SwitchResponse]:
        """Disable sub-services in the whole cell."""

    @overload
    async def call(
        self,
        name: Literal["POST /admin/services/enable"],
        *,
        body: SwitchRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[SwitchResponse]:
        """Enable sub-services in the whole cell."""

    @overload
    async def call(
        self,
        name: Literal["GET /admin/services/status"],
        **options: Unpack[CallOptions],
    ) -> Answer[SwitchStatus]:
        """Read the switches of the cell, and what this replica has seen of each sub-service."""

    @overload
    async def call(
        self,
        name: Literal["GET /docs"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Read the documentation as a page."""

    @overload
    async def call(
        self,
        name: Literal["GET /health/live"],
        **options: Unpack[CallOptions],
    ) -> Answer[HealthResponse]:
        """Ask whether the process is alive."""

    @overload
    async def call(
        self,
        name: Literal["GET /health/ready"],
        **options: Unpack[CallOptions],
    ) -> Answer[ReadyResponse]:
        """Ask whether requests should be sent here."""

    @overload
    async def call(
        self,
        name: Literal["GET /health/startup"],
        **options: Unpack[CallOptions],
    ) -> Answer[StartupResponse]:
        """Ask whether the process has started, and in what state each part is."""

    @overload
    async def call(
        self,
        name: Literal["POST /mcp"],
        *,
        body: Any,
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Send a message of the Model Context Protocol."""

    @overload
    async def call(
        self,
        name: Literal["GET /metrics"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Read Prometheus metrics, at most a second old."""

    @overload
    async def call(
        self,
        name: Literal["GET /openapi.json"],
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Read this document."""

    @overload
    async def call(
        self,
        name: Literal["POST /v1/advice/outcomes"],
        *,
        body: OutcomeReport,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[OutcomeResults]:
        """Report the outcomes of tool calls, so that the next ranking learns from them."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/advice/policies"],
        **options: Unpack[CallOptions],
    ) -> Answer[PolicyList]:
        """List the policies of the database."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/advice/policies/{name}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Policy]:
        """Read a policy."""

    @overload
    async def call(
        self,
        name: Literal["PUT /v1/advice/policies/{name}"],
        *,
        path: PathParameters,
        body: PolicyWrite,
        **options: Unpack[CallOptions],
    ) -> Answer[Policy]:
        """Write a policy."""

    @overload
    async def call(
        self,
        name: Literal["POST /v1/advice/rank"],
        *,
        body: AdviceRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[ToolRankResult]:
        """Rank tools for a task by their outcomes, with a capability."""

    @overload
    async def call(
        self,
        name: Literal["POST /v1/advice/tools:rank"],
        *,
        body: ToolRankRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[ToolRankResult]:
        """Rank tools for a task by their outcomes and a policy, as a partner."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/audit"],
        *,
        query: GetV1AuditQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[AuditList]:
        """List audit entries of this instance, newest first."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/cognitive/config"],
        **options: Unpack[CallOptions],
    ) -> Answer[CognitiveConfigInForce]:
        """Read the configuration in force."""

    @overload
    async def call(
        self,
        name: Literal["PUT /v1/cognitive/config"],
        *,
        body: CognitiveConfig,
        **options: Unpack[CallOptions],
    ) -> Answer[CognitiveConfigUpdate]:
        """Replace the configuration of the database by any JSON object."""

    @overload
    async def call(
        self,
        name: Literal["POST /v1/cognitive/cycles"],
        *,
        body: CycleRun = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CycleRan]:
        """Run a cognitive cycle."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/cognitive/cycles"],
        *,
        query: GetV1CognitiveCyclesQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Cycles]:
        """List cycles, newest first."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/cognitive/cycles/{id}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Cycle]:
        """Read a cycle."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/cognitive/cycles/{id}/decisions"],
        *,
        path: PathParameters,
        query: GetV1CognitiveCyclesIdDecisionsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CycleDecisions]:
        """List what a cycle decided, with the reasons."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/cognitive/health"],
        **options: Unpack[CallOptions],
    ) -> Answer[CognitiveHealth]:
        """Check whether cycles of the database run when they are due, and how attempts ended."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/cognitive/settings"],
        **options: Unpack[CallOptions],
    ) -> Answer[CognitiveSettings]:
        """Read the configuration in force with the default, the range and the schema of each known key."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/cognitive/stats"],
        **options: Unpack[CallOptions],
    ) -> Answer[CycleStats]:
        """Read how many cycles there were, and how long they took."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/cognitive/timeline"],
        *,
        query: GetV1CognitiveTimelineQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Timeline]:
        """Read which slots were in working memory over time, newest first."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/conductor/endpoints"],
        **options: Unpack[CallOptions],
    ) -> Answer[ConductorEndpoints]:
        """List the path of every registered route."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/databases"],
        *,
        query: GetV1DatabasesQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[DatabaseList]:
        """List the databases of the service with what each holds."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /v1/databases/{name}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[DatabaseDeleted | DatabaseErasing]:
        """Erase a database with all that it holds."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/health/all"],
        **options: Unpack[CallOptions],
    ) -> Answer[HealthAllResponse]:
        """Check every dependency and sub-service."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/health/live"],
        **options: Unpack[CallOptions],
    ) -> Answer[HealthResponse]:
        """Ask whether the process is alive."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/health/ready"],
        **options: Unpack[CallOptions],
    ) -> Answer[ReadyResponse]:
        """Ask whether requests should be sent here."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/health/startup"],
        **options: Unpack[CallOptions],
    ) -> Answer[StartupResponse]:
        """Ask whether the process has started, and in what state each part is."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/kv/consistency"],
        *,
        query: GetV1KvConsistencyQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[KvConsistency]:
        """Verify the digests of entries and the counters of their databases."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/kv/entries"],
        *,
        query: GetV1KvEntriesQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[EntryList]:
        """List entries by key in order of code points, or backwards."""

    @overload
    async def call(
        self,
        name: Literal["POST /v1/kv/entries/batch"],
        *,
        body: EntryBatch,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[EntryBatchResult]:
        """Put and delete several entries, all or nothing."""

    @overload
    async def call(
        self,
        name: Literal["PUT /v1/kv/entries/{key}"],
        *,
        path: PathParameters,
        body: EntryWrite,
        **options: Unpack[CallOptions],
    ) -> Answer[Entry]:
        """Write an entry."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/kv/entries/{key}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Entry]:
        """Read an entry."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /v1/kv/entries/{key}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[EntryDeleted]:
        """Delete an entry."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/kv/health"],
        **options: Unpack[CallOptions],
    ) -> Answer[KvHealth]:
        """Check the store by writing, committing and reading back a probe."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/lifecycle/status"],
        **options: Unpack[CallOptions],
    ) -> Answer[LifecycleStatus]:
        """Read the state of the process, its reasons and past transitions."""

    @overload
    async def call(
        self,
        name: Literal["POST /v1/memory/recall"],
        *,
        body: RecallRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[RecallResult]:
        """Recall what answers a question, best first, with the reasons."""

    @overload
    async def call(
        self,
        name: Literal["POST /v1/memory/records"],
        *,
        body: RecordWrite,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[RecordStored]:
        """Store a memory."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/memory/records"],
        *,
        query: GetV1MemoryRecordsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[RecordList]:
        """List memories, newest first or oldest first."""

    @overload
    async def call(
        self,
        name: Literal["POST /v1/memory/records/batch"],
        *,
        body: RecordBatch,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[RecordBatchResult]:
        """Store several memories, all or nothing."""

    @overload
    async def call(
        self,
        name: Literal["POST /v1/memory/records/read"],
        *,
        body: RecordRead,
        **options: Unpack[CallOptions],
    ) -> Answer[RecordsRead]:
        """Read up to 100 memories by their ids."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/memory/records/{id}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Record]:
        """Read a memory, also one that was superseded."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /v1/memory/records/{id}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[RecordDeleted]:
        """Erase a memory and every copy of it."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/memory/records/{id}/trace"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[RecordTrace]:
        """Read the history of a memory, with what it replaced and when it was in working memory."""

    @overload
    async def call(
        self,
        name: Literal["POST /v1/partner/projections"],
        *,
        body: ProjectionIngest,
        **options: Unpack[CallOptions],
    ) -> Answer[ProjectionResults]:
        """Ingest one event of a partner, or up to 500."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/system/info"],
        **options: Unpack[CallOptions],
    ) -> Answer[SystemInfo]:
        """Read version and uptime of the daemon, and which tables recall uses."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/working-memory/config"],
        **options: Unpack[CallOptions],
    ) -> Answer[SlotConfigInForce]:
        """Read the configuration in force."""

    @overload
    async def call(
        self,
        name: Literal["PUT /v1/working-memory/config"],
        *,
        body: SlotConfig,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotConfigUpdate]:
        """Replace the configuration of the database by any JSON object."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/working-memory/evictions"],
        *,
        query: GetV1WorkingMemoryEvictionsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[EvictionList]:
        """List the slots that left, newest first, and why."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/working-memory/settings"],
        **options: Unpack[CallOptions],
    ) -> Answer[SlotSettings]:
        """Read the configuration in force with the default, the range and the schema of each known key."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/working-memory/slots"],
        **options: Unpack[CallOptions],
    ) -> Answer[SlotList]:
        """List the slots."""

    @overload
    async def call(
        self,
        name: Literal["POST /v1/working-memory/slots/batch"],
        *,
        body: SlotBatch,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotBatchResult]:
        """Put and delete several slots, all or nothing."""

    @overload
    async def call(
        self,
        name: Literal["POST /v1/working-memory/slots/clear"],
        *,
        query: PostV1WorkingMemorySlotsClearQuery = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotsCleared]:
        """Clear the slots that are not pinned."""

    @overload
    async def call(
        self,
        name: Literal["POST /v1/working-memory/slots/restore"],
        *,
        body: SlotRestore,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotsRestored]:
        """Undo a clear by its token, or write a former version of a slot again."""

    @overload
    async def call(
        self,
        name: Literal["PUT /v1/working-memory/slots/{key}"],
        *,
        path: PathParameters,
        body: SlotWrite,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotWritten]:
        """Write a slot."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/working-memory/slots/{key}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Slot]:
        """Read a slot."""

    @overload
    async def call(
        self,
        name: Literal["PATCH /v1/working-memory/slots/{key}"],
        *,
        path: PathParameters,
        body: SlotPatch,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotWritten]:
        """Change a slot by a JSON merge patch."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /v1/working-memory/slots/{key}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotDeleted]:
        """Delete a slot."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/working-memory/slots/{key}/history"],
        *,
        path: PathParameters,
        query: GetV1WorkingMemorySlotsKeyHistoryQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[SlotHistory]:
        """List every version of a slot, newest first, also of one that has left."""

    @overload
    async def call(
        self,
        name: Literal["GET /v1/working-memory/stats"],
        **options: Unpack[CallOptions],
    ) -> Answer[SlotStatistics]:
        """Read how full the working memory is."""
