# Generated from docs/api/management.openapi.json by scripts/documents.ts; run that, do not edit this.

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, overload

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .calls import Answer, CallOptions, PathParameters

class AdoptedResponse(TypedDict):
    adopted: Literal[True]


class ApiKey(TypedDict):
    id: str
    user_id: str
    made_by: str | None
    session_id: str | None
    name: str
    scopes: list[Literal["services:read", "services:write", "tokens:write", "tenants:read", "tenants:write", "billing:read", "keys:write", "members:write", "audit:read", "usage:read", "events:read", "staff"] | str]
    tenant_ids: list[str] | None
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    previous_until: str | None


class ApiKeyIssued(TypedDict):
    id: str
    user_id: str
    made_by: str | None
    session_id: str | None
    name: str
    scopes: list[Literal["services:read", "services:write", "tokens:write", "tenants:read", "tenants:write", "billing:read", "keys:write", "members:write", "audit:read", "usage:read", "events:read", "staff"] | str]
    tenant_ids: list[str] | None
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    previous_until: str | None
    secret: str


class ApiKeyList(TypedDict):
    api_keys: list[ApiKey]
    next_cursor: str | None


class _ApiKeyMake(TypedDict):
    name: str


class ApiKeyMake(_ApiKeyMake, total=False):
    scopes: list[Literal["services:read", "services:write", "tokens:write", "tenants:read", "tenants:write", "billing:read", "keys:write", "members:write", "audit:read", "usage:read", "events:read", "staff"]]
    tenant_ids: list[str]
    expires_in: int


class ApiKeyRotate(TypedDict, total=False):
    overlap_seconds: int


class AuditEventList(TypedDict):
    entries: list[AuditEventListEntriesItem]
    next_cursor: str | None


class AuditEventListEntriesItem(TypedDict):
    id: str
    seq: int
    at: str
    actor: str
    action: str
    subject: str
    outcome: str
    request_id: str | None
    detail: dict[str, Any]
    hash: str
    prev_hash: str | None


class AuthorizationServer(TypedDict):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    response_types_supported: list[str]
    response_modes_supported: list[str]
    grant_types_supported: list[str]
    code_challenge_methods_supported: list[str]
    token_endpoint_auth_methods_supported: list[str]
    scopes_supported: list[str]
    authorization_response_iss_parameter_supported: Literal[True]
    client_id_metadata_document_supported: Literal[True]


class _BillingEvent(TypedDict):
    eventType: Literal["subscription.created", "subscription.updated", "subscription.cancelled", "subscription.deleted", "payment.succeeded", "payment.failed", "invoice.payment_succeeded", "invoice.payment_failed"]
    tenantId: str
    plan: Literal["free", "starter", "pro", "enterprise"]
    status: Literal["active", "cancelled", "past_due", "unpaid"]


class BillingEvent(_BillingEvent, total=False):
    customerId: str
    subscriptionId: str
    currentPeriodStart: str
    currentPeriodEnd: str
    metadata: Mapping[str, str]


class BillingEventList(TypedDict):
    events: list[BillingEventListEventsItem]
    next_cursor: str | None


class BillingEventListEventsItem(TypedDict):
    id: str
    event_type: str
    customer_id: str | None
    subscription_id: str | None
    counts_for: str | None
    plan: Literal["free", "starter", "pro", "enterprise"] | str
    status: Literal["active", "cancelled", "past_due", "unpaid"] | str
    effect: Literal["applied", "superseded", "unordered", "parked", "dead"] | str
    sequence: int | None
    occurred_at: str | None
    received_at: str
    current_period_start: str | None
    current_period_end: str | None
    metadata: dict[str, str] | None
    warnings: list[str]


class BillingReceived(TypedDict):
    received: Literal[True]


class BillingWebhookStatus(TypedDict):
    status: Literal["active"]
    configured: bool
    webhook: str
    timestamp: str


class CapabilityKeys(TypedDict):
    keys: list[CapabilityKeysKeysItem]


class CapabilityKeysKeysItem(TypedDict):
    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    x: str
    kid: str
    alg: Literal["EdDSA"]
    use: Literal["sig"]


class Cell(TypedDict):
    id: str
    name: str
    region: str
    capacity: int
    placed: int
    endpoint: str
    public_keys: list[str]
    tenant_id: str | None
    created_at: str
    heard_at: str | None
    heard_seq: int
    feed_seq: int
    lag: int
    alarm: CellAlarm | None


class CellAlarm(TypedDict):
    kind: Literal["two_addresses", "generation", "unknown", "foreign", "erased", "revocations", "deletions"] | str
    at: str
    detail: str


class CellChange(TypedDict, total=False):
    capacity: int
    endpoint: str
    public_keys: list[str]


class CellList(TypedDict):
    cells: list[Cell]
    next_cursor: str | None


class _CellRequest(TypedDict):
    name: str
    region: str
    capacity: int
    endpoint: str
    public_key: str


class CellRequest(_CellRequest, total=False):
    tenant_id: str


class CellRevocationList(TypedDict):
    revocations: list[CellRevocationListRevocationsItem]
    next_cursor: str | None


class CellRevocationListRevocationsItem(TypedDict):
    id: str
    cell_id: str
    kind: Literal["jti", "org", "ten", "svc"] | str
    value: str
    organization_id: str | None
    not_before: str | None
    expires_at: str
    created_at: str
    withdrawn_at: str | None


class CellSelf(TypedDict):
    id: str
    name: str
    region: str
    epoch: str
    instances: int


class CellSwitchAnswer(TypedDict):
    service: str
    previous: bool
    current: bool
    changed: bool
    dry_run: bool
    instances: int


class _CellSwitchRequest(TypedDict):
    service: str
    enabled: bool
    reason: str


class CellSwitchRequest(_CellSwitchRequest, total=False):
    auto_revert_ms: int
    dry_run: bool


class CellSwitches(TypedDict):
    cell_id: str
    reported_at: str | None
    subservices: list[CellSwitchesSubservicesItem]


class CellSwitchesSubservicesItem(TypedDict):
    name: str
    enabled: bool
    required: bool
    depends_on: list[str]
    since: str
    changed_by: str | None
    reason: str | None
    auto_revert_at: str | None
    wanted: CellSwitchesSubservicesItemWanted | None


class CellSwitchesSubservicesItemWanted(TypedDict):
    enabled: bool
    at: str
    by: str
    reason: str
    auto_revert_at: str | None
    state: Literal["pending", "applied", "overtaken", "refused", "expired"] | str


class CliLoginBegin(TypedDict, total=False):
    pass


class CliLoginBegun(TypedDict):
    id: str
    user_code: str
    device_code: str
    verification_url: str
    interval: int
    expires_in: int


class CliLoginDecided(TypedDict):
    id: str
    status: Literal["approved", "denied"] | str


class CliLoginDecision(TypedDict):
    user_code: str


class CliLoginKey(TypedDict):
    api_key: str
    organization_id: str
    expires_at: str


class CliLoginPending(TypedDict):
    status: Literal["pending"]


class CliLoginPoll(TypedDict):
    device_code: str


class _CreateServiceRequest(TypedDict):
    service_type: str
    name: str


class CreateServiceRequest(_CreateServiceRequest, total=False):
    slug: str
    plan: Literal["free", "starter", "pro", "enterprise"]
    region: str
    config: Mapping[str, Any]
    tenant_id: str


class _CreateServiceResponse(TypedDict):
    service_id: str
    service_type: str
    name: str
    slug: str
    status: Literal["provisioning"]
    created_at: str
    estimated_ready_in: int


class CreateServiceResponse(_CreateServiceResponse, total=False):
    endpoint: str


class DeleteApiV1ApiKeysIdQuery(TypedDict, total=False):
    made: Literal["delete", "keep"]


class DeleteApiV1TenantsIdTokensTokenIdQuery(TypedDict, total=False):
    service_id: str


class Deleted(TypedDict):
    deleted: Literal[True]


class _DeletionsResponse(TypedDict):
    deletions: list[DeletionsResponseDeletionsItem]
    next: int
    more: bool


class DeletionsResponse(_DeletionsResponse, total=False):
    epoch: str


class _DeletionsResponseDeletionsItem(TypedDict):
    seq: int
    svc: str
    generation: int | None
    at: str


class DeletionsResponseDeletionsItem(_DeletionsResponseDeletionsItem, total=False):
    database: str
    value_mac: str
    database_seq: int
    override: bool


class Event(TypedDict):
    id: str
    seq: int
    type: str
    at: str
    subject: str
    data: dict[str, Any]


class _Events(TypedDict):
    events: list[Event]
    next: int


class Events(_Events, total=False):
    truncated: Literal[True]


class ExchangeRequest(TypedDict):
    code: str
    redirect_uri: str
    code_verifier: str


class ExchangeResponse(TypedDict):
    authenticated: Literal[True]
    expires_at: str
    expires_in: int


class _FeedResponse(TypedDict):
    epoch: str
    full: bool
    next: int
    more: bool
    items: list[FeedResponseItemsItem | FeedResponseItemsItem2 | FeedResponseItemsItem3 | FeedResponseItemsItem4]


class FeedResponse(_FeedResponse, total=False):
    urgent: int
    ledger: int
    switches: list[FeedResponseSwitchesItem]


class FeedResponseItemsItem(TypedDict):
    seq: int
    kind: Literal["instance"]
    key: str
    body: FeedResponseItemsItemBody


class FeedResponseItemsItem2(TypedDict):
    seq: int
    kind: Literal["key"]
    key: str
    body: FeedResponseItemsItem2Body


class FeedResponseItemsItem2Body(TypedDict):
    kid: str
    x: str
    state: Literal["active", "retiring", "removed"] | str
    retire_at: str | None


class FeedResponseItemsItem3(TypedDict):
    seq: int
    kind: Literal["revocation"]
    key: str
    body: FeedResponseItemsItem3Body | FeedResponseItemsItem3Body2


class _FeedResponseItemsItem3Body(TypedDict):
    svc: str | Literal["*"]
    jti: str
    expires_at: str


class FeedResponseItemsItem3Body(_FeedResponseItemsItem3Body, total=False):
    revoked_at: str
    withdrawn: Literal[True]


class _FeedResponseItemsItem3Body2(TypedDict):
    kind: Literal["org", "ten", "svc", "sub"] | str
    id: str
    not_before: str
    expires_at: str


class FeedResponseItemsItem3Body2(_FeedResponseItemsItem3Body2, total=False):
    withdrawn: Literal[True]


class FeedResponseItemsItem4(TypedDict):
    seq: int
    kind: Literal["partner_credential"]
    key: str
    body: FeedResponseItemsItem4Body


class FeedResponseItemsItem4Body(TypedDict):
    id: str
    partner: str
    svc: str
    org: str
    ten: str
    database: str
    projection_classes: list[str]
    routes: list[str]
    digest: str
    state: Literal["active", "revoked"] | str
    expires_at: str | None


class FeedResponseItemsItemBody(TypedDict):
    org: str
    ten: str
    svc: str
    service_type: str
    plan: str
    state: Literal["active", "suspended", "deleted"] | str
    state_reason: str | None
    generation: int
    limits: FeedResponseItemsItemBodyLimits
    config: dict[str, Any]


class _FeedResponseItemsItemBodyLimits(TypedDict):
    databases: int
    records: int
    bytes: int
    requests_per_second: int
    burst: int
    streams: int


class FeedResponseItemsItemBodyLimits(_FeedResponseItemsItemBodyLimits, total=False):
    bytes_written_per_day: int
    history_days: int
    organization_rate: int


class FeedResponseSwitchesItem(TypedDict):
    service: str
    enabled: bool
    at: str
    by: str
    reason: str
    auto_revert_at: str | None


class GetApiV1ApiKeysQuery(TypedDict, total=False):
    cursor: str
    limit: int


class GetApiV1AuditEventsQuery(TypedDict, total=False):
    cursor: str
    limit: int
    organization_id: str | Literal["platform"]


class GetApiV1CellsQuery(TypedDict, total=False):
    cursor: str
    limit: int


class GetApiV1EventsQuery(TypedDict, total=False):
    after: int
    limit: int
    wait: int


class GetApiV1OauthClientsQuery(TypedDict, total=False):
    cursor: str
    limit: int


class GetApiV1OauthGrantsQuery(TypedDict, total=False):
    cursor: str
    limit: int


class GetApiV1OperationsIdQuery(TypedDict, total=False):
    wait: int


class GetApiV1OrganizationsIdInvitationsQuery(TypedDict, total=False):
    cursor: str
    limit: int


class GetApiV1OrganizationsIdMembersQuery(TypedDict, total=False):
    cursor: str
    limit: int


class GetApiV1ParkedEventsQuery(TypedDict, total=False):
    cursor: str
    limit: int


class GetApiV1RevocationsQuery(TypedDict, total=False):
    cursor: str
    limit: int


class GetApiV1ServicesIdPartnerCredentialsQuery(TypedDict, total=False):
    cursor: str
    limit: int


GetApiV1ServicesIdUsageQuery = TypedDict(
    "GetApiV1ServicesIdUsageQuery",
    {
        "from": "str",
        "to": "str",
        "step": "Literal[\"minute\", \"hour\", \"day\"]",
    },
    total=False,
)


class GetApiV1ServicesQuery(TypedDict, total=False):
    tenant_id: str
    service_type: str
    status: Literal["provisioning", "active", "updating", "suspended", "failed", "deleting", "deleted"]
    q: str
    limit: int
    offset: int


class GetApiV1TenantsIdBillingEventsQuery(TypedDict, total=False):
    cursor: str
    limit: int


class GetApiV1TenantsIdTokensQuery(TypedDict, total=False):
    cursor: str
    limit: int
    service_id: str


GetApiV1TenantsIdUsageQuery = TypedDict(
    "GetApiV1TenantsIdUsageQuery",
    {
        "from": "str",
        "to": "str",
        "step": "Literal[\"minute\", \"hour\", \"day\"]",
    },
    total=False,
)


class GetApiV1TenantsQuery(TypedDict, total=False):
    cursor: str
    limit: int


GetApiV1UsageQuery = TypedDict(
    "GetApiV1UsageQuery",
    {
        "from": "str",
        "to": "str",
        "step": "Literal[\"minute\", \"hour\", \"day\"]",
        "by": "Literal[\"service\"]",
        "cursor": "str",
        "limit": "int",
    },
    total=False,
)


class GetCellV1DeletionsQuery(TypedDict, total=False):
    after: int


class GetCellV1FeedQuery(TypedDict, total=False):
    after: int
    urgent: int
    epoch: str
    wait: int


class GetCliLoginQuery(TypedDict, total=False):
    user_code: str


class GetOauthAuthorizeQuery(TypedDict, total=False):
    response_type: str
    client_id: str
    redirect_uri: str
    code_challenge: str
    code_challenge_method: str
    resource: str
    scope: str
    state: str


class GetSignInQuery(TypedDict, total=False):
    return_to: str
    fresh: Literal["true", "false"]


class GetSignInStartQuery(TypedDict, total=False):
    return_to: str
    fresh: Literal["true", "false"]


class GetSignedInQuery(TypedDict, total=False):
    code: str
    state: str
    iss: str
    error: str


class HealthResponse(TypedDict):
    status: Literal["ok"]


class Invitation(TypedDict):
    id: str
    email: str
    role: Literal["owner", "admin", "member", "viewer"] | str
    invited_by: str
    created_at: str
    expires_at: str


class InvitationAccept(TypedDict):
    token: str


class InvitationAccepted(TypedDict):
    organization_id: str
    name: str
    role: Literal["owner", "admin", "member", "viewer"] | str


class InvitationList(TypedDict):
    invitations: list[Invitation]
    next_cursor: str | None


class InvitationMade(TypedDict):
    id: str
    email: str
    role: Literal["owner", "admin", "member", "viewer"] | str
    invited_by: str
    created_at: str
    expires_at: str
    token: str
    link: str


class InvitationMake(TypedDict):
    email: str
    role: Literal["owner", "admin", "member", "viewer"]


class ListServicesResponse(TypedDict):
    services: list[ListServicesResponseServicesItem]
    pagination: ListServicesResponsePagination


class _ListServicesResponsePagination(TypedDict):
    total: int
    limit: int
    offset: int


class ListServicesResponsePagination(_ListServicesResponsePagination, total=False):
    searched_all: bool


class ListServicesResponseServicesItem(TypedDict):
    id: str
    service_type_id: str
    tenant_id: str
    name: str
    slug: str
    endpoint: str | None
    plan: Literal["free", "starter", "pro", "enterprise"] | str
    region: str
    status: Literal["provisioning", "active", "updating", "suspended", "failed", "deleting", "deleted"] | str
    status_reason: str | None
    created_at: str


class LogoutRequest(TypedDict, total=False):
    revoke_issued: bool


class ManagementLifecycleStatus(TypedDict):
    state: Literal["starting", "migrating", "warming", "ready", "degraded", "draining", "stopped", "failed"] | str
    since: str
    accepting_requests: bool
    reasons: list[str]
    transitions: list[ManagementLifecycleStatusTransitionsItem]
    drain: ManagementLifecycleStatusDrain


class ManagementLifecycleStatusDrain(TypedDict):
    deadline: str | None
    in_flight: int


ManagementLifecycleStatusTransitionsItem = TypedDict(
    "ManagementLifecycleStatusTransitionsItem",
    {
        "from": "Literal[\"starting\", \"migrating\", \"warming\", \"ready\", \"degraded\", \"draining\", \"stopped\", \"failed\"] | str | None",
        "to": "Literal[\"starting\", \"migrating\", \"warming\", \"ready\", \"degraded\", \"draining\", \"stopped\", \"failed\"] | str",
        "at": "str",
        "reason": "str",
    },
)


class Member(TypedDict):
    user_id: str
    email: str
    name: str | None
    role: Literal["owner", "admin", "member", "viewer"] | str
    created_at: str


class MemberChange(TypedDict):
    role: Literal["owner", "admin", "member", "viewer"]


class MemberList(TypedDict):
    members: list[Member]
    next_cursor: str | None


class MoveServiceRequest(TypedDict):
    cell_id: str


class OauthClient(TypedDict):
    id: str
    name: str
    redirect_uris: list[str]
    created_at: str


class OauthClientList(TypedDict):
    oauth_clients: list[OauthClient]
    next_cursor: str | None


class OauthClientMake(TypedDict):
    name: str
    redirect_uris: list[str]


class OauthGrant(TypedDict):
    id: str
    user_id: str
    tenant_id: str
    service_id: str
    client_id: str
    client_name: str
    ops: list[str]
    databases: list[str]
    created_at: str
    expires_at: str
    last_used_at: str | None


class OauthGrantList(TypedDict):
    oauth_grants: list[OauthGrant]
    next_cursor: str | None


class OauthTokens(TypedDict):
    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    refresh_token: str
    scope: str


class _Operation(TypedDict):
    id: str
    service_id: str
    kind: Literal["provision", "update", "suspend", "resume", "move", "delete"] | str
    status: Literal["pending", "running", "succeeded", "failed", "superseded"] | str
    percent: int
    steps: list[OperationStepsItem]
    created_at: str
    updated_at: str


class Operation(_Operation, total=False):
    error: OperationError


class OperationError(TypedDict):
    code: str
    message: str


class OperationStepsItem(TypedDict):
    name: str
    status: str
    started_at: str | None
    completed_at: str | None
    detail: str | None


class OrderingReset(TypedDict):
    subscription_id: str
    ordering: Literal["sequence", "occurred_at"]


class OrderingResetResult(TypedDict):
    subscription_id: str
    ordering: Literal["sequence", "occurred_at"] | str
    events: int


class Organization(TypedDict):
    id: str
    name: str
    plan: Literal["free", "starter", "pro", "enterprise"] | str
    role: Literal["owner", "admin", "member", "viewer"] | str
    created_at: str


class OrganizationList(TypedDict):
    organizations: list[Organization]
    next_cursor: str | None


class OrganizationMade(TypedDict):
    id: str
    name: str
    plan: Literal["free", "starter", "pro", "enterprise"] | str
    role: Literal["owner", "admin", "member", "viewer"] | str
    created_at: str
    default_tenant_id: str


class OrganizationMake(TypedDict):
    name: str


class ParkedEventList(TypedDict):
    events: list[ParkedEventListEventsItem]
    next_cursor: str | None


class ParkedEventListEventsItem(TypedDict):
    id: str
    event_type: str
    customer_id: str | None
    subscription_id: str | None
    counts_for: str | None
    plan: Literal["free", "starter", "pro", "enterprise"] | str
    status: Literal["active", "cancelled", "past_due", "unpaid"] | str
    effect: Literal["applied", "superseded", "unordered", "parked", "dead"] | str
    sequence: int | None
    occurred_at: str | None
    received_at: str
    current_period_start: str | None
    current_period_end: str | None
    metadata: dict[str, str] | None
    warnings: list[str]
    tenant_id: str


class PartnerCredentialIssued(TypedDict):
    id: str
    service_id: str
    name: str
    made_by: str | None
    partner: str
    database: str
    projection_classes: list[str]
    routes: list[str]
    created_at: str
    expires_at: str | None
    rotated_at: str | None
    last_used_at: str | None
    token: str


class PartnerCredentialList(TypedDict):
    partner_credentials: list[PartnerCredentialListPartnerCredentialsItem]
    next_cursor: str | None


class PartnerCredentialListPartnerCredentialsItem(TypedDict):
    id: str
    service_id: str
    name: str
    made_by: str | None
    partner: str
    database: str
    projection_classes: list[str]
    routes: list[str]
    created_at: str
    expires_at: str | None
    rotated_at: str | None
    last_used_at: str | None


class _PartnerCredentialRequest(TypedDict):
    name: str
    database: str


class PartnerCredentialRequest(_PartnerCredentialRequest, total=False):
    partner: str
    projection_classes: list[str]
    routes: list[str]
    expires_in: int


class PatchServiceRequest(TypedDict, total=False):
    name: str
    plan: Literal["free", "starter", "pro", "enterprise"]
    config: Mapping[str, Any]


class PostApiV1ServicesIdPartnerCredentialsCredentialIdRotateBody(TypedDict, total=False):
    pass


class PostApiV1ServicesIdResumeBody(TypedDict, total=False):
    pass


class PostApiV1ServicesIdRetryBody(TypedDict, total=False):
    pass


class PostApiV1ServicesIdSuspendBody(TypedDict, total=False):
    pass


class QuarantineList(TypedDict):
    instances: list[QuarantineListInstancesItem]


class QuarantineListInstancesItem(TypedDict):
    service_id: str
    cell_id: str
    organization_id: str
    tenant_id: str
    service_type: str
    plan: str
    state: str
    generation: int
    first_seen_at: str
    last_seen_at: str


class ReadyResponse(TypedDict):
    status: Literal["ok", "degraded"] | str


class _ReportRequest(TypedDict):
    report_id: str


class ReportRequest(_ReportRequest, total=False):
    observed: list[ReportRequestObservedItem]
    unknown: list[ReportRequestUnknownItem]
    usage: list[ReportRequestUsageItem]
    revocations: list[ReportRequestRevocationsItem]
    deletions: list[ReportRequestDeletionsItem]
    switches: list[ReportRequestSwitchesItem]
    last_used: list[ReportRequestLastUsedItem]


class _ReportRequestDeletionsItem(TypedDict):
    svc: str
    at: str


class ReportRequestDeletionsItem(_ReportRequestDeletionsItem, total=False):
    database: str
    generation: int
    value_mac: str
    database_seq: int
    override: bool


class ReportRequestLastUsedItem(TypedDict):
    credential: str
    at: str


class ReportRequestObservedItem(TypedDict):
    svc: str
    generation: int
    state: Literal["active", "suspended", "deleted", "failed"]


class ReportRequestRevocationsItem(TypedDict):
    kind: Literal["jti", "org", "ten", "svc"]
    value: str
    not_before: str | None
    expires_at: str
    audit_id: str | None


class ReportRequestSwitchesItem(TypedDict):
    name: str
    enabled: bool
    since: str
    changed_by: str | None
    reason: str | None
    auto_revert_at: str | None
    told_at: str | None
    outcome: Literal["applied", "overtaken", "refused", "expired"] | None


class ReportRequestUnknownItem(TypedDict):
    svc: str
    org: str
    ten: str
    service_type: str
    plan: Literal["free", "starter", "pro", "enterprise"]
    generation: int
    state: Literal["active", "suspended", "deleted", "failed"]


class _ReportRequestUsageItem(TypedDict):
    svc: str
    minute: str
    dedup: str
    requests: int
    writes: int
    records: int
    bytes: int


class ReportRequestUsageItem(_ReportRequestUsageItem, total=False):
    units: float
    routes: list[ReportRequestUsageItemRoutesItem]
    errors: int
    cycles: int
    evictions: int
    latency: list[int]


class ReportRequestUsageItemRoutesItem(TypedDict):
    route: str
    units: float


class _ReportResponse(TypedDict):
    accepted: Literal[True]
    refused: list[str]


class ReportResponse(_ReportResponse, total=False):
    ledger: int


class RevocationWithdrawn(TypedDict):
    withdrawn: Literal[True]


class _Service(TypedDict):
    id: str
    service_type_id: str
    tenant_id: str
    name: str
    slug: str
    endpoint: str | None
    plan: Literal["free", "starter", "pro", "enterprise"] | str
    region: str
    status: Literal["provisioning", "active", "updating", "suspended", "failed", "deleting", "deleted"] | str
    status_reason: str | None
    created_at: str
    config: dict[str, Any]
    service_type: str
    cell: str | None
    operation_id: str | None
    updated_at: str


class Service(_Service, total=False):
    subservices: list[ServiceSubservicesItem]


class ServiceArguments(TypedDict, total=False):
    slug: str
    plan: Literal["free", "starter", "pro", "enterprise"]
    region: str
    config: Mapping[str, Any]
    tenant_id: str


class ServiceSubservicesItem(TypedDict):
    name: str
    enabled: bool
    since: str
    auto_revert_at: str | None


class SessionEnded(TypedDict):
    logged_out: Literal[True]
    sign_out_url: str | None
    revoked: SessionEndedRevoked


class _SessionEndedRevoked(TypedDict):
    session: bool
    refresh_token: bool


class SessionEndedRevoked(_SessionEndedRevoked, total=False):
    issued: SessionEndedRevokedIssued


class SessionEndedRevokedIssued(TypedDict):
    api_keys: int
    cli_logins: int
    tokens: int
    partner_credentials: int
    invitations: int
    oauth_grants: int


class SessionShown(TypedDict):
    authenticated: Literal[True]
    user: SessionShownUser
    staff: bool
    organizations: list[SessionShownOrganizationsItem]
    signed_in_at: str
    expires_at: str


class SessionShownOrganizationsItem(TypedDict):
    id: str
    name: str
    role: Literal["owner", "admin", "member", "viewer"] | str
    scopes: list[str]
    ops: list[str]


class SessionShownUser(TypedDict):
    id: str
    email: str
    name: str | None
    picture: str | None


class SessionToken(TypedDict):
    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    expires_at: str


SessionWhole: TypeAlias = "SessionWholeValue | None"


class SessionWholeValue(TypedDict):
    user: SessionWholeValueUser
    access_token: str
    token_type: Literal["Bearer"]
    expires_at: str


class SessionWholeValueUser(TypedDict):
    id: str
    email: str
    name: str | None


class StartupResponse(TypedDict):
    status: Literal["ok"]
    services: dict[str, str]


class Tenant(TypedDict):
    id: str
    organization_id: str
    name: str
    slug: str
    plan: Literal["free", "starter", "pro", "enterprise"] | str
    status: Literal["active", "past_due", "suspended"] | str
    is_default: bool
    created_at: str
    updated_at: str


class TenantChange(TypedDict):
    name: str


class TenantList(TypedDict):
    tenants: list[Tenant]
    next_cursor: str | None


class _TenantMake(TypedDict):
    name: str


class TenantMake(_TenantMake, total=False):
    slug: str


class TenantStatus(TypedDict):
    tenant_id: str
    organization_id: str
    status: Literal["active", "past_due", "suspended"] | str
    status_reason: str | None
    plan: Literal["free", "starter", "pro", "enterprise"] | str
    covered_plan: Literal["free", "starter", "pro", "enterprise"] | str
    billing: TenantStatusBilling
    limits: TenantStatusLimits
    services: TenantStatusServices
    updated_at: str


class TenantStatusBilling(TypedDict):
    status: Literal["active", "cancelled", "past_due", "unpaid"] | str | None
    customer_id: str | None
    subscription_id: str | None
    current_period_start: str | None
    current_period_end: str | None
    grace_ends_at: str | None
    suspended_since: str | None
    reads_end_at: str | None
    deletion_at: str | None
    last_event_at: str | None


class _TenantStatusLimits(TypedDict):
    services: TenantStatusLimitsServices
    databases: TenantStatusLimitsDatabases
    records: TenantStatusLimitsRecords
    bytes: TenantStatusLimitsBytes
    requests_per_second: TenantStatusLimitsRequestsPerSecond


class TenantStatusLimits(_TenantStatusLimits, total=False):
    bytes_written_per_day: TenantStatusLimitsBytesWrittenPerDay


class TenantStatusLimitsBytes(TypedDict):
    limit: int


class TenantStatusLimitsBytesWrittenPerDay(TypedDict):
    limit: int


class TenantStatusLimitsDatabases(TypedDict):
    limit: int


class TenantStatusLimitsRecords(TypedDict):
    limit: int


class TenantStatusLimitsRequestsPerSecond(TypedDict):
    limit: int


class TenantStatusLimitsServices(TypedDict):
    limit: int
    used: int


class TenantStatusServices(TypedDict):
    total: int
    by_status: dict[str, int]


class TokenChild(TypedDict):
    jti: str
    parent_id: str
    name: str | None
    ops: list[str] | None
    expires_at: str
    registered_at: str
    revoked_at: str | None


class _TokenChildRequest(TypedDict):
    jti: str
    exp: int


class TokenChildRequest(_TokenChildRequest, total=False):
    name: str
    ops: list[str]


class TokenList(TypedDict):
    tokens: list[TokenListTokensItem]
    next_cursor: str | None


class TokenListTokensItem(TypedDict):
    token_id: str
    name: str | None
    tenant_id: str
    service_id: str
    ops: list[str]
    keyspaces: list[str]
    sub: str | None
    made_by: str | None
    max_delegation_depth: int
    issued_at: str
    expires_at: str
    revoked_at: str | None
    last_used_at: str | None
    children: list[TokenListTokensItemChildrenItem]
    children_total: int


class TokenListTokensItemChildrenItem(TypedDict):
    jti: str
    parent_id: str
    name: str | None
    ops: list[str] | None
    expires_at: str
    registered_at: str
    revoked_at: str | None


class TokenRequest(TypedDict, total=False):
    service_id: str
    name: str
    ops: list[str]
    databases: list[str]
    ttl_seconds: int
    max_delegation_depth: int
    holder_key: Any


class _TokenResponse(TypedDict):
    token_id: str
    token: str
    token_type: Literal["loci-capability"]
    header: str
    organization_id: str
    tenant_id: str
    service_id: str
    ops: list[str]
    keyspaces: list[str]
    issued_at: str
    expires_at: str
    expires_in: int


class TokenResponse(_TokenResponse, total=False):
    delegation: TokenResponseDelegation


class TokenResponseDelegation(TypedDict):
    chain: str
    key: TokenResponseDelegationKey


class TokenResponseDelegationKey(TypedDict):
    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    x: str
    d: str


Usage = TypedDict(
    "Usage",
    {
        "usage": "list[UsageUsageItem]",
        "dearest": "list[UsageDearestItem]",
        "from": "str",
        "to": "str",
        "step": "Literal[\"minute\", \"hour\", \"day\"] | str",
    },
)


UsageByService = TypedDict(
    "UsageByService",
    {
        "services": "list[UsageByServiceServicesItem]",
        "from": "str",
        "to": "str",
        "step": "Literal[\"minute\", \"hour\", \"day\"] | str",
        "next_cursor": "str | None",
    },
)


class UsageByServiceServicesItem(TypedDict):
    service_id: str
    usage: list[UsageByServiceServicesItemUsageItem]


class UsageByServiceServicesItemUsageItem(TypedDict):
    at: str
    requests: int
    writes: int
    records: int
    bytes: int
    units: float
    errors: int
    p50_ms: int | None
    p95_ms: int | None
    cycles: int
    evictions: int


class UsageDearestItem(TypedDict):
    route: str
    units: float


class UsageUsageItem(TypedDict):
    at: str
    requests: int
    writes: int
    records: int
    bytes: int
    units: float
    errors: int
    p50_ms: int | None
    p95_ms: int | None
    cycles: int
    evictions: int


class Management(Protocol):
    """Every route of management by its `METHOD /path`, typed."""

    @overload
    def call(
        self,
        name: Literal["GET /"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Redirect to the console, or to sign-in where nobody is signed in."""

    @overload
    def call(
        self,
        name: Literal["GET /.well-known/loci-capability-keys.json"],
        **options: Unpack[CallOptions],
    ) -> Answer[CapabilityKeys]:
        """Read the public keys that capabilities are signed with."""

    @overload
    def call(
        self,
        name: Literal["GET /.well-known/oauth-authorization-server"],
        **options: Unpack[CallOptions],
    ) -> Answer[AuthorizationServer]:
        """Describe the authorization server for clients of /mcp."""

    @overload
    def call(
        self,
        name: Literal["POST /api/auth/exchange"],
        *,
        body: ExchangeRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[ExchangeResponse]:
        """Sign in with the code that the provider gave the browser."""

    @overload
    def call(
        self,
        name: Literal["GET /api/auth/get-session"],
        **options: Unpack[CallOptions],
    ) -> Answer[SessionWhole]:
        """Read the session with its access token, or null."""

    @overload
    def call(
        self,
        name: Literal["POST /api/auth/logout"],
        *,
        body: LogoutRequest = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[SessionEnded]:
        """Sign out."""

    @overload
    def call(
        self,
        name: Literal["POST /api/auth/refresh"],
        **options: Unpack[CallOptions],
    ) -> Answer[ExchangeResponse]:
        """Refresh the tokens of the session by its refresh cookie."""

    @overload
    def call(
        self,
        name: Literal["GET /api/auth/session"],
        **options: Unpack[CallOptions],
    ) -> Answer[SessionShown]:
        """Read who is signed in, as the sign-in provider tells it now."""

    @overload
    def call(
        self,
        name: Literal["GET /api/auth/token"],
        **options: Unpack[CallOptions],
    ) -> Answer[SessionToken]:
        """Read the access token of the session, for integrations in the browser."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/api-keys"],
        *,
        query: GetApiV1ApiKeysQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[ApiKeyList]:
        """List API keys."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/api-keys"],
        *,
        body: ApiKeyMake,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[ApiKeyIssued]:
        """Create an API key with at most the rights of the caller."""

    @overload
    def call(
        self,
        name: Literal["DELETE /api/v1/api-keys/{id}"],
        *,
        path: PathParameters,
        query: DeleteApiV1ApiKeysIdQuery = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Delete an API key."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/api-keys/{id}/rotate"],
        *,
        path: PathParameters,
        body: ApiKeyRotate = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[ApiKeyIssued]:
        """Rotate one of your own API keys."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/audit-events"],
        *,
        query: GetApiV1AuditEventsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[AuditEventList]:
        """List the audit entries of the organization, newest first."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/cells"],
        *,
        query: GetApiV1CellsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CellList]:
        """List the cells, newest first, with their load and the lag of their feeds."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/cells"],
        *,
        body: CellRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Cell]:
        """Register a cell with the key that its daemons sign with."""

    @overload
    def call(
        self,
        name: Literal["PATCH /api/v1/cells/{id}"],
        *,
        path: PathParameters,
        body: CellChange,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Cell]:
        """Change the capacity, the endpoint or the keys of a cell."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/cells/{id}/subservices"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[CellSwitches]:
        """Read the switches of a cell, as it has reported them, and what was asked of them."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/cells/{id}/subservices/switch"],
        *,
        path: PathParameters,
        body: CellSwitchRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CellSwitchAnswer]:
        """Enable or disable a sub-service in a whole cell."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/cli-logins"],
        *,
        body: CliLoginBegin = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CliLoginBegun]:
        """Start the sign-in of a command line."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/cli-logins/{id}/approve"],
        *,
        path: PathParameters,
        body: CliLoginDecision,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CliLoginDecided]:
        """Approve the sign-in of a command line, whose code the person has compared."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/cli-logins/{id}/deny"],
        *,
        path: PathParameters,
        body: CliLoginDecision,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CliLoginDecided]:
        """Deny the sign-in of a command line, whose code the person has compared."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/cli-logins/{id}/poll"],
        *,
        path: PathParameters,
        body: CliLoginPoll,
        **options: Unpack[CallOptions],
    ) -> Answer[CliLoginKey | CliLoginPending]:
        """Poll the sign-in of a command line."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/events"],
        *,
        query: GetApiV1EventsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Events]:
        """Read or follow what happened in the organization."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/invitations/accept"],
        *,
        body: InvitationAccept,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[InvitationAccepted]:
        """Accept an invitation."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/oauth-clients"],
        *,
        body: OauthClientMake,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[OauthClient]:
        """Register an OAuth client that people of the organization may allow."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/oauth-clients"],
        *,
        query: GetApiV1OauthClientsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[OauthClientList]:
        """List the OAuth clients that the organization registered."""

    @overload
    def call(
        self,
        name: Literal["DELETE /api/v1/oauth-clients/{id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Delete an OAuth client."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/oauth-grants"],
        *,
        query: GetApiV1OauthGrantsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[OauthGrantList]:
        """List the grants that people gave to OAuth clients."""

    @overload
    def call(
        self,
        name: Literal["DELETE /api/v1/oauth-grants/{id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """End a grant of an OAuth client."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/operations/{id}"],
        *,
        path: PathParameters,
        query: GetApiV1OperationsIdQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Operation]:
        """Read an operation, which tells how far a command on a service has come."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/organizations"],
        **options: Unpack[CallOptions],
    ) -> Answer[OrganizationList]:
        """List the organizations of the caller."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/organizations"],
        *,
        body: OrganizationMake,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[OrganizationMade]:
        """Create an organization."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/organizations/{id}/invitations"],
        *,
        path: PathParameters,
        body: InvitationMake,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[InvitationMade]:
        """Invite a person by their e-mail address."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/organizations/{id}/invitations"],
        *,
        path: PathParameters,
        query: GetApiV1OrganizationsIdInvitationsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[InvitationList]:
        """List invitations that can still be accepted, newest first, without their links."""

    @overload
    def call(
        self,
        name: Literal["DELETE /api/v1/organizations/{id}/invitations/{invitation_id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Withdraw an invitation."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/organizations/{id}/members"],
        *,
        path: PathParameters,
        query: GetApiV1OrganizationsIdMembersQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[MemberList]:
        """List the members of the organization with their roles."""

    @overload
    def call(
        self,
        name: Literal["PATCH /api/v1/organizations/{id}/members/{user_id}"],
        *,
        path: PathParameters,
        body: MemberChange,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Member]:
        """Change the role of a member."""

    @overload
    def call(
        self,
        name: Literal["DELETE /api/v1/organizations/{id}/members/{user_id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Remove a member."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/parked-events"],
        *,
        query: GetApiV1ParkedEventsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[ParkedEventList]:
        """List billing events whose tenant is not known, newest first."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/quarantine"],
        **options: Unpack[CallOptions],
    ) -> Answer[QuarantineList]:
        """List instances that a cell holds and management does not know, oldest first."""

    @overload
    def call(
        self,
        name: Literal["DELETE /api/v1/quarantine/{cell_id}/{service_id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Have the cell erase an instance in quarantine."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/quarantine/{cell_id}/{service_id}/adopt"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[AdoptedResponse]:
        """Adopt an instance in quarantine as a service again."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/revocations"],
        *,
        query: GetApiV1RevocationsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CellRevocationList]:
        """List the revocations that cells made by themselves, newest first."""

    @overload
    def call(
        self,
        name: Literal["DELETE /api/v1/revocations/{id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[RevocationWithdrawn]:
        """Withdraw a revocation that a cell made by itself."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/services"],
        *,
        body: CreateServiceRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CreateServiceResponse]:
        """Create a service."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/services"],
        *,
        query: GetApiV1ServicesQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[ListServicesResponse]:
        """List the services of the organization, newest first."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/services/{id}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Service]:
        """Read a service."""

    @overload
    def call(
        self,
        name: Literal["PATCH /api/v1/services/{id}"],
        *,
        path: PathParameters,
        body: PatchServiceRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Service | Operation]:
        """Rename a service, or change its plan or config."""

    @overload
    def call(
        self,
        name: Literal["DELETE /api/v1/services/{id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Operation]:
        """Delete a service and everything in it."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/services/{id}/move"],
        *,
        path: PathParameters,
        body: MoveServiceRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Operation]:
        """Place a service that has failed in a cell of your choice."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/services/{id}/partner-credentials"],
        *,
        path: PathParameters,
        body: PartnerCredentialRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[PartnerCredentialIssued]:
        """Issue a credential for a partner, bound to one database of the service."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/services/{id}/partner-credentials"],
        *,
        path: PathParameters,
        query: GetApiV1ServicesIdPartnerCredentialsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[PartnerCredentialList]:
        """List the partner credentials of the service, newest first, and never their tokens."""

    @overload
    def call(
        self,
        name: Literal["DELETE /api/v1/services/{id}/partner-credentials/{credential_id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Revoke a partner credential."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/services/{id}/partner-credentials/{credential_id}/rotate"],
        *,
        path: PathParameters,
        body: PostApiV1ServicesIdPartnerCredentialsCredentialIdRotateBody = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[PartnerCredentialIssued]:
        """Give a partner credential a new secret under the same id."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/services/{id}/proxy/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Pass a GET on to the service itself, for pages of the console."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/services/{id}/proxy/{path}"],
        *,
        path: PathParameters,
        body: Any = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Pass a POST on to the service itself, for pages of the console."""

    @overload
    def call(
        self,
        name: Literal["PUT /api/v1/services/{id}/proxy/{path}"],
        *,
        path: PathParameters,
        body: Any = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Pass a PUT on to the service itself, for pages of the console."""

    @overload
    def call(
        self,
        name: Literal["PATCH /api/v1/services/{id}/proxy/{path}"],
        *,
        path: PathParameters,
        body: Any = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Pass a PATCH on to the service itself, for pages of the console."""

    @overload
    def call(
        self,
        name: Literal["DELETE /api/v1/services/{id}/proxy/{path}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Pass a DELETE on to the service itself, for pages of the console."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/services/{id}/resume"],
        *,
        path: PathParameters,
        body: PostApiV1ServicesIdResumeBody = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Operation]:
        """Resume a suspended service, which accepts writes again."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/services/{id}/retry"],
        *,
        path: PathParameters,
        body: PostApiV1ServicesIdRetryBody = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Operation]:
        """Retry the reconciliation of a service at once."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/services/{id}/suspend"],
        *,
        path: PathParameters,
        body: PostApiV1ServicesIdSuspendBody = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Operation]:
        """Suspend a service, which refuses writes until it is resumed."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/services/{id}/usage"],
        *,
        path: PathParameters,
        query: GetApiV1ServicesIdUsageQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Usage]:
        """Read the usage of a service by minute, hour or day."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/tenants"],
        *,
        query: GetApiV1TenantsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[TenantList]:
        """List the tenants that the caller may use, newest first."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/tenants"],
        *,
        body: TenantMake,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Tenant]:
        """Create a tenant."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/tenants/{id}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Tenant]:
        """Read a tenant."""

    @overload
    def call(
        self,
        name: Literal["PATCH /api/v1/tenants/{id}"],
        *,
        path: PathParameters,
        body: TenantChange,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Tenant]:
        """Rename a tenant."""

    @overload
    def call(
        self,
        name: Literal["DELETE /api/v1/tenants/{id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Delete a tenant that has no services."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/tenants/{id}/billing/events"],
        *,
        path: PathParameters,
        query: GetApiV1TenantsIdBillingEventsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[BillingEventList]:
        """List the billing events of the tenant with their effects, newest first."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/tenants/{id}/billing/ordering/reset"],
        *,
        path: PathParameters,
        body: OrderingReset,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[OrderingResetResult]:
        """Reset the ordering of the billing events of a subscription."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/tenants/{id}/status"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[TenantStatus]:
        """Read the status of a tenant."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/tenants/{id}/tokens"],
        *,
        path: PathParameters,
        body: TokenRequest = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[TokenResponse]:
        """Issue a token for a service of the tenant."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/tenants/{id}/tokens"],
        *,
        path: PathParameters,
        query: GetApiV1TenantsIdTokensQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[TokenList]:
        """List the tokens of the tenant, newest first, and never their text."""

    @overload
    def call(
        self,
        name: Literal["DELETE /api/v1/tenants/{id}/tokens/{token_id}"],
        *,
        path: PathParameters,
        query: DeleteApiV1TenantsIdTokensTokenIdQuery = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Revoke a token."""

    @overload
    def call(
        self,
        name: Literal["POST /api/v1/tenants/{id}/tokens/{token_id}/children"],
        *,
        path: PathParameters,
        body: TokenChildRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[TokenChild]:
        """Register a capability that was narrowed offline from a token."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/tenants/{id}/usage"],
        *,
        path: PathParameters,
        query: GetApiV1TenantsIdUsageQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Usage]:
        """Read the usage of all services of a tenant together, by minute, hour or day."""

    @overload
    def call(
        self,
        name: Literal["GET /api/v1/usage"],
        *,
        query: GetApiV1UsageQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[UsageByService]:
        """Read the usage of each service by minute, hour or day."""

    @overload
    def call(
        self,
        name: Literal["GET /api/webhooks/billing"],
        **options: Unpack[CallOptions],
    ) -> Answer[BillingWebhookStatus]:
        """Check that the billing webhook is there, and for which provider."""

    @overload
    def call(
        self,
        name: Literal["POST /api/webhooks/billing"],
        *,
        body: BillingEvent,
        **options: Unpack[CallOptions],
    ) -> Answer[BillingReceived]:
        """Deliver a billing event of the payment provider."""

    @overload
    def call(
        self,
        name: Literal["GET /cell/v1/deletions"],
        *,
        query: GetCellV1DeletionsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[DeletionsResponse]:
        """List the deletions that the cell has reported."""

    @overload
    def call(
        self,
        name: Literal["GET /cell/v1/feed"],
        *,
        query: GetCellV1FeedQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[FeedResponse]:
        """Read the changes that the cell has not applied yet."""

    @overload
    def call(
        self,
        name: Literal["POST /cell/v1/reports"],
        *,
        body: ReportRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[ReportResponse]:
        """Report what the cell has observed and counted, and what it revoked and deleted by itself."""

    @overload
    def call(
        self,
        name: Literal["GET /cell/v1/self"],
        **options: Unpack[CallOptions],
    ) -> Answer[CellSelf]:
        """Read how the cell is registered with management."""

    @overload
    def call(
        self,
        name: Literal["GET /cli-login"],
        *,
        query: GetCliLoginQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the page where a person approves a command line."""

    @overload
    def call(
        self,
        name: Literal["POST /cli-login"],
        *,
        body: Any,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Approve or deny a command line."""

    @overload
    def call(
        self,
        name: Literal["GET /console/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Read a file of the console."""

    @overload
    def call(
        self,
        name: Literal["GET /dashboard"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Redirect to the console, or to sign-in where nobody is signed in."""

    @overload
    def call(
        self,
        name: Literal["GET /dashboard/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Redirect to the console, or to sign-in where nobody is signed in."""

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
        name: Literal["GET /go/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the console."""

    @overload
    def call(
        self,
        name: Literal["GET /health/lifecycle"],
        **options: Unpack[CallOptions],
    ) -> Answer[ManagementLifecycleStatus]:
        """Read the state of the process and its past transitions."""

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
        name: Literal["GET /metrics"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Read Prometheus metrics, at most a second old."""

    @overload
    def call(
        self,
        name: Literal["GET /o/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the console."""

    @overload
    def call(
        self,
        name: Literal["GET /oauth/authorize"],
        *,
        query: GetOauthAuthorizeQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the page where a person allows a client to use a service."""

    @overload
    def call(
        self,
        name: Literal["POST /oauth/authorize"],
        *,
        body: Any,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Allow or deny a client, as the person chose, and lead back to it."""

    @overload
    def call(
        self,
        name: Literal["POST /oauth/token"],
        *,
        body: Any,
        **options: Unpack[CallOptions],
    ) -> Answer[OauthTokens]:
        """Exchange a code, or a refresh token, for an access token and the next refresh token."""

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
        name: Literal["GET /s/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the console."""

    @overload
    def call(
        self,
        name: Literal["GET /services"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the console."""

    @overload
    def call(
        self,
        name: Literal["GET /services/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the console."""

    @overload
    def call(
        self,
        name: Literal["GET /sign-in"],
        *,
        query: GetSignInQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the page where a person signs in."""

    @overload
    def call(
        self,
        name: Literal["GET /sign-in/start"],
        *,
        query: GetSignInStartQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Redirect to the sign-in provider."""

    @overload
    def call(
        self,
        name: Literal["GET /sign-out"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the page where a person signs out."""

    @overload
    def call(
        self,
        name: Literal["POST /sign-out"],
        *,
        body: Any = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Sign out, as POST /api/auth/logout does."""

    @overload
    def call(
        self,
        name: Literal["GET /signed-in"],
        *,
        query: GetSignedInQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Finish a sign-in when the provider sends the browser back."""

    @overload
    def call(
        self,
        name: Literal["GET /signed-in/done"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show who is signed in, and their organizations."""

    @overload
    def call(
        self,
        name: Literal["POST /signed-in/done"],
        *,
        body: Any,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Create the first organization of the person who is signed in."""

    @overload
    def call(
        self,
        name: Literal["GET /staff/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the console."""


class AsyncManagement(Protocol):
    """Every route of management by its `METHOD /path`, typed."""

    @overload
    async def call(
        self,
        name: Literal["GET /"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Redirect to the console, or to sign-in where nobody is signed in."""

    @overload
    async def call(
        self,
        name: Literal["GET /.well-known/loci-capability-keys.json"],
        **options: Unpack[CallOptions],
    ) -> Answer[CapabilityKeys]:
        """Read the public keys that capabilities are signed with."""

    @overload
    async def call(
        self,
        name: Literal["GET /.well-known/oauth-authorization-server"],
        **options: Unpack[CallOptions],
    ) -> Answer[AuthorizationServer]:
        """Describe the authorization server for clients of /mcp."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/auth/exchange"],
        *,
        body: ExchangeRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[ExchangeResponse]:
        """Sign in with the code that the provider gave the browser."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/auth/get-session"],
        **options: Unpack[CallOptions],
    ) -> Answer[SessionWhole]:
        """Read the session with its access token, or null."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/auth/logout"],
        *,
        body: LogoutRequest = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[SessionEnded]:
        """Sign out."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/auth/refresh"],
        **options: Unpack[CallOptions],
    ) -> Answer[ExchangeResponse]:
        """Refresh the tokens of the session by its refresh cookie."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/auth/session"],
        **options: Unpack[CallOptions],
    ) -> Answer[SessionShown]:
        """Read who is signed in, as the sign-in provider tells it now."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/auth/token"],
        **options: Unpack[CallOptions],
    ) -> Answer[SessionToken]:
        """Read the access token of the session, for integrations in the browser."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/api-keys"],
        *,
        query: GetApiV1ApiKeysQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[ApiKeyList]:
        """List API keys."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/api-keys"],
        *,
        body: ApiKeyMake,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[ApiKeyIssued]:
        """Create an API key with at most the rights of the caller."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /api/v1/api-keys/{id}"],
        *,
        path: PathParameters,
        query: DeleteApiV1ApiKeysIdQuery = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Delete an API key."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/api-keys/{id}/rotate"],
        *,
        path: PathParameters,
        body: ApiKeyRotate = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[ApiKeyIssued]:
        """Rotate one of your own API keys."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/audit-events"],
        *,
        query: GetApiV1AuditEventsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[AuditEventList]:
        """List the audit entries of the organization, newest first."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/cells"],
        *,
        query: GetApiV1CellsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CellList]:
        """List the cells, newest first, with their load and the lag of their feeds."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/cells"],
        *,
        body: CellRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Cell]:
        """Register a cell with the key that its daemons sign with."""

    @overload
    async def call(
        self,
        name: Literal["PATCH /api/v1/cells/{id}"],
        *,
        path: PathParameters,
        body: CellChange,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Cell]:
        """Change the capacity, the endpoint or the keys of a cell."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/cells/{id}/subservices"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[CellSwitches]:
        """Read the switches of a cell, as it has reported them, and what was asked of them."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/cells/{id}/subservices/switch"],
        *,
        path: PathParameters,
        body: CellSwitchRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CellSwitchAnswer]:
        """Enable or disable a sub-service in a whole cell."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/cli-logins"],
        *,
        body: CliLoginBegin = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CliLoginBegun]:
        """Start the sign-in of a command line."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/cli-logins/{id}/approve"],
        *,
        path: PathParameters,
        body: CliLoginDecision,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CliLoginDecided]:
        """Approve the sign-in of a command line, whose code the person has compared."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/cli-logins/{id}/deny"],
        *,
        path: PathParameters,
        body: CliLoginDecision,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CliLoginDecided]:
        """Deny the sign-in of a command line, whose code the person has compared."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/cli-logins/{id}/poll"],
        *,
        path: PathParameters,
        body: CliLoginPoll,
        **options: Unpack[CallOptions],
    ) -> Answer[CliLoginKey | CliLoginPending]:
        """Poll the sign-in of a command line."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/events"],
        *,
        query: GetApiV1EventsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Events]:
        """Read or follow what happened in the organization."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/invitations/accept"],
        *,
        body: InvitationAccept,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[InvitationAccepted]:
        """Accept an invitation."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/oauth-clients"],
        *,
        body: OauthClientMake,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[OauthClient]:
        """Register an OAuth client that people of the organization may allow."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/oauth-clients"],
        *,
        query: GetApiV1OauthClientsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[OauthClientList]:
        """List the OAuth clients that the organization registered."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /api/v1/oauth-clients/{id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Delete an OAuth client."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/oauth-grants"],
        *,
        query: GetApiV1OauthGrantsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[OauthGrantList]:
        """List the grants that people gave to OAuth clients."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /api/v1/oauth-grants/{id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """End a grant of an OAuth client."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/operations/{id}"],
        *,
        path: PathParameters,
        query: GetApiV1OperationsIdQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Operation]:
        """Read an operation, which tells how far a command on a service has come."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/organizations"],
        **options: Unpack[CallOptions],
    ) -> Answer[OrganizationList]:
        """List the organizations of the caller."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/organizations"],
        *,
        body: OrganizationMake,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[OrganizationMade]:
        """Create an organization."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/organizations/{id}/invitations"],
        *,
        path: PathParameters,
        body: InvitationMake,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[InvitationMade]:
        """Invite a person by their e-mail address."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/organizations/{id}/invitations"],
        *,
        path: PathParameters,
        query: GetApiV1OrganizationsIdInvitationsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[InvitationList]:
        """List invitations that can still be accepted, newest first, without their links."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /api/v1/organizations/{id}/invitations/{invitation_id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Withdraw an invitation."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/organizations/{id}/members"],
        *,
        path: PathParameters,
        query: GetApiV1OrganizationsIdMembersQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[MemberList]:
        """List the members of the organization with their roles."""

    @overload
    async def call(
        self,
        name: Literal["PATCH /api/v1/organizations/{id}/members/{user_id}"],
        *,
        path: PathParameters,
        body: MemberChange,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Member]:
        """Change the role of a member."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /api/v1/organizations/{id}/members/{user_id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Remove a member."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/parked-events"],
        *,
        query: GetApiV1ParkedEventsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[ParkedEventList]:
        """List billing events whose tenant is not known, newest first."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/quarantine"],
        **options: Unpack[CallOptions],
    ) -> Answer[QuarantineList]:
        """List instances that a cell holds and management does not know, oldest first."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /api/v1/quarantine/{cell_id}/{service_id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Have the cell erase an instance in quarantine."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/quarantine/{cell_id}/{service_id}/adopt"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[AdoptedResponse]:
        """Adopt an instance in quarantine as a service again."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/revocations"],
        *,
        query: GetApiV1RevocationsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CellRevocationList]:
        """List the revocations that cells made by themselves, newest first."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /api/v1/revocations/{id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[RevocationWithdrawn]:
        """Withdraw a revocation that a cell made by itself."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/services"],
        *,
        body: CreateServiceRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[CreateServiceResponse]:
        """Create a service."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/services"],
        *,
        query: GetApiV1ServicesQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[ListServicesResponse]:
        """List the services of the organization, newest first."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/services/{id}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Service]:
        """Read a service."""

    @overload
    async def call(
        self,
        name: Literal["PATCH /api/v1/services/{id}"],
        *,
        path: PathParameters,
        body: PatchServiceRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Service | Operation]:
        """Rename a service, or change its plan or config."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /api/v1/services/{id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Operation]:
        """Delete a service and everything in it."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/services/{id}/move"],
        *,
        path: PathParameters,
        body: MoveServiceRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Operation]:
        """Place a service that has failed in a cell of your choice."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/services/{id}/partner-credentials"],
        *,
        path: PathParameters,
        body: PartnerCredentialRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[PartnerCredentialIssued]:
        """Issue a credential for a partner, bound to one database of the service."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/services/{id}/partner-credentials"],
        *,
        path: PathParameters,
        query: GetApiV1ServicesIdPartnerCredentialsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[PartnerCredentialList]:
        """List the partner credentials of the service, newest first, and never their tokens."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /api/v1/services/{id}/partner-credentials/{credential_id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Revoke a partner credential."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/services/{id}/partner-credentials/{credential_id}/rotate"],
        *,
        path: PathParameters,
        body: PostApiV1ServicesIdPartnerCredentialsCredentialIdRotateBody = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[PartnerCredentialIssued]:
        """Give a partner credential a new secret under the same id."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/services/{id}/proxy/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Pass a GET on to the service itself, for pages of the console."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/services/{id}/proxy/{path}"],
        *,
        path: PathParameters,
        body: Any = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Pass a POST on to the service itself, for pages of the console."""

    @overload
    async def call(
        self,
        name: Literal["PUT /api/v1/services/{id}/proxy/{path}"],
        *,
        path: PathParameters,
        body: Any = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Pass a PUT on to the service itself, for pages of the console."""

    @overload
    async def call(
        self,
        name: Literal["PATCH /api/v1/services/{id}/proxy/{path}"],
        *,
        path: PathParameters,
        body: Any = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Pass a PATCH on to the service itself, for pages of the console."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /api/v1/services/{id}/proxy/{path}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Any]:
        """Pass a DELETE on to the service itself, for pages of the console."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/services/{id}/resume"],
        *,
        path: PathParameters,
        body: PostApiV1ServicesIdResumeBody = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Operation]:
        """Resume a suspended service, which accepts writes again."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/services/{id}/retry"],
        *,
        path: PathParameters,
        body: PostApiV1ServicesIdRetryBody = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Operation]:
        """Retry the reconciliation of a service at once."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/services/{id}/suspend"],
        *,
        path: PathParameters,
        body: PostApiV1ServicesIdSuspendBody = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Operation]:
        """Suspend a service, which refuses writes until it is resumed."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/services/{id}/usage"],
        *,
        path: PathParameters,
        query: GetApiV1ServicesIdUsageQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Usage]:
        """Read the usage of a service by minute, hour or day."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/tenants"],
        *,
        query: GetApiV1TenantsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[TenantList]:
        """List the tenants that the caller may use, newest first."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/tenants"],
        *,
        body: TenantMake,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Tenant]:
        """Create a tenant."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/tenants/{id}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[Tenant]:
        """Read a tenant."""

    @overload
    async def call(
        self,
        name: Literal["PATCH /api/v1/tenants/{id}"],
        *,
        path: PathParameters,
        body: TenantChange,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Tenant]:
        """Rename a tenant."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /api/v1/tenants/{id}"],
        *,
        path: PathParameters,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Delete a tenant that has no services."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/tenants/{id}/billing/events"],
        *,
        path: PathParameters,
        query: GetApiV1TenantsIdBillingEventsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[BillingEventList]:
        """List the billing events of the tenant with their effects, newest first."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/tenants/{id}/billing/ordering/reset"],
        *,
        path: PathParameters,
        body: OrderingReset,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[OrderingResetResult]:
        """Reset the ordering of the billing events of a subscription."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/tenants/{id}/status"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[TenantStatus]:
        """Read the status of a tenant."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/tenants/{id}/tokens"],
        *,
        path: PathParameters,
        body: TokenRequest = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[TokenResponse]:
        """Issue a token for a service of the tenant."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/tenants/{id}/tokens"],
        *,
        path: PathParameters,
        query: GetApiV1TenantsIdTokensQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[TokenList]:
        """List the tokens of the tenant, newest first, and never their text."""

    @overload
    async def call(
        self,
        name: Literal["DELETE /api/v1/tenants/{id}/tokens/{token_id}"],
        *,
        path: PathParameters,
        query: DeleteApiV1TenantsIdTokensTokenIdQuery = ...,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Deleted]:
        """Revoke a token."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/v1/tenants/{id}/tokens/{token_id}/children"],
        *,
        path: PathParameters,
        body: TokenChildRequest,
        idempotency_key: str | None = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[TokenChild]:
        """Register a capability that was narrowed offline from a token."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/tenants/{id}/usage"],
        *,
        path: PathParameters,
        query: GetApiV1TenantsIdUsageQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[Usage]:
        """Read the usage of all services of a tenant together, by minute, hour or day."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/v1/usage"],
        *,
        query: GetApiV1UsageQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[UsageByService]:
        """Read the usage of each service by minute, hour or day."""

    @overload
    async def call(
        self,
        name: Literal["GET /api/webhooks/billing"],
        **options: Unpack[CallOptions],
    ) -> Answer[BillingWebhookStatus]:
        """Check that the billing webhook is there, and for which provider."""

    @overload
    async def call(
        self,
        name: Literal["POST /api/webhooks/billing"],
        *,
        body: BillingEvent,
        **options: Unpack[CallOptions],
    ) -> Answer[BillingReceived]:
        """Deliver a billing event of the payment provider."""

    @overload
    async def call(
        self,
        name: Literal["GET /cell/v1/deletions"],
        *,
        query: GetCellV1DeletionsQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[DeletionsResponse]:
        """List the deletions that the cell has reported."""

    @overload
    async def call(
        self,
        name: Literal["GET /cell/v1/feed"],
        *,
        query: GetCellV1FeedQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[FeedResponse]:
        """Read the changes that the cell has not applied yet."""

    @overload
    async def call(
        self,
        name: Literal["POST /cell/v1/reports"],
        *,
        body: ReportRequest,
        **options: Unpack[CallOptions],
    ) -> Answer[ReportResponse]:
        """Report what the cell has observed and counted, and what it revoked and deleted by itself."""

    @overload
    async def call(
        self,
        name: Literal["GET /cell/v1/self"],
        **options: Unpack[CallOptions],
    ) -> Answer[CellSelf]:
        """Read how the cell is registered with management."""

    @overload
    async def call(
        self,
        name: Literal["GET /cli-login"],
        *,
        query: GetCliLoginQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the page where a person approves a command line."""

    @overload
    async def call(
        self,
        name: Literal["POST /cli-login"],
        *,
        body: Any,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Approve or deny a command line."""

    @overload
    async def call(
        self,
        name: Literal["GET /console/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Read a file of the console."""

    @overload
    async def call(
        self,
        name: Literal["GET /dashboard"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Redirect to the console, or to sign-in where nobody is signed in."""

    @overload
    async def call(
        self,
        name: Literal["GET /dashboard/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Redirect to the console, or to sign-in where nobody is signed in."""

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
        name: Literal["GET /go/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the console."""

    @overload
    async def call(
        self,
        name: Literal["GET /health/lifecycle"],
        **options: Unpack[CallOptions],
    ) -> Answer[ManagementLifecycleStatus]:
        """Read the state of the process and its past transitions."""

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
        name: Literal["GET /metrics"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Read Prometheus metrics, at most a second old."""

    @overload
    async def call(
        self,
        name: Literal["GET /o/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the console."""

    @overload
    async def call(
        self,
        name: Literal["GET /oauth/authorize"],
        *,
        query: GetOauthAuthorizeQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the page where a person allows a client to use a service."""

    @overload
    async def call(
        self,
        name: Literal["POST /oauth/authorize"],
        *,
        body: Any,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Allow or deny a client, as the person chose, and lead back to it."""

    @overload
    async def call(
        self,
        name: Literal["POST /oauth/token"],
        *,
        body: Any,
        **options: Unpack[CallOptions],
    ) -> Answer[OauthTokens]:
        """Exchange a code, or a refresh token, for an access token and the next refresh token."""

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
        name: Literal["GET /s/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the console."""

    @overload
    async def call(
        self,
        name: Literal["GET /services"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the console."""

    @overload
    async def call(
        self,
        name: Literal["GET /services/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the console."""

    @overload
    async def call(
        self,
        name: Literal["GET /sign-in"],
        *,
        query: GetSignInQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the page where a person signs in."""

    @overload
    async def call(
        self,
        name: Literal["GET /sign-in/start"],
        *,
        query: GetSignInStartQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Redirect to the sign-in provider."""

    @overload
    async def call(
        self,
        name: Literal["GET /sign-out"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the page where a person signs out."""

    @overload
    async def call(
        self,
        name: Literal["POST /sign-out"],
        *,
        body: Any = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Sign out, as POST /api/auth/logout does."""

    @overload
    async def call(
        self,
        name: Literal["GET /signed-in"],
        *,
        query: GetSignedInQuery = ...,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Finish a sign-in when the provider sends the browser back."""

    @overload
    async def call(
        self,
        name: Literal["GET /signed-in/done"],
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show who is signed in, and their organizations."""

    @overload
    async def call(
        self,
        name: Literal["POST /signed-in/done"],
        *,
        body: Any,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Create the first organization of the person who is signed in."""

    @overload
    async def call(
        self,
        name: Literal["GET /staff/{path}"],
        *,
        path: PathParameters,
        **options: Unpack[CallOptions],
    ) -> Answer[str]:
        """Show the console."""
