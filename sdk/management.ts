// Generated from docs/api/management.openapi.json by scripts/documents.ts; run that, do not edit this.

export type ManagementOperations = {
  /** Redirect to the console, or to sign-in where nobody is signed in. */
  'GET /': {
    given: {}
    answers: {
      200: string
    }
  }
  /** Read the public keys that capabilities are signed with. */
  'GET /.well-known/loci-capability-keys.json': {
    given: {}
    answers: {
      200: CapabilityKeys
    }
  }
  /** Describe the authorization server for clients of /mcp. */
  'GET /.well-known/oauth-authorization-server': {
    given: {}
    answers: {
      200: AuthorizationServer
    }
  }
  /** Sign in with the code that the provider gave the browser. Sets the cookies of a session. */
  'POST /api/auth/exchange': {
    given: {
      body: ExchangeRequest
    }
    answers: {
      200: ExchangeResponse
    }
  }
  /** Read the session with its access token, or null. Not for other sites. */
  'GET /api/auth/get-session': {
    given: {}
    answers: {
      200: SessionWhole
    }
  }
  /** Sign out. Ends the session here and its refresh token at the provider, clears the cookies. With `revoke_issued` it also revokes the API keys and command lines that the session made, with what those made, and ends what it allowed clients of OAuth. */
  'POST /api/auth/logout': {
    given: {
      body?: LogoutRequest | undefined
    }
    answers: {
      200: SessionEnded
    }
  }
  /** Refresh the tokens of the session by its refresh cookie. Tabs that ask at once get the same ones. */
  'POST /api/auth/refresh': {
    given: {}
    answers: {
      200: ExchangeResponse
    }
  }
  /** Read who is signed in, as the sign-in provider tells it now. Kept for ten seconds at most. With what each role may do, so that a page need not try what is refused; a refusal decides all the same. */
  'GET /api/auth/session': {
    given: {}
    answers: {
      200: SessionShown
    }
  }
  /** Read the access token of the session, for integrations in the browser. Not for other sites. */
  'GET /api/auth/token': {
    given: {}
    answers: {
      200: SessionToken
    }
  }
  /** List API keys. All of the organization with `keys:write`, otherwise your own. */
  'GET /api/v1/api-keys': {
    given: {
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: ApiKeyList
    }
  }
  /** Create an API key with at most the rights of the caller. Its secret is shown once. A session needs a sign-in of the last 10 minutes. */
  'POST /api/v1/api-keys': {
    given: {
      body: ApiKeyMake
      idempotencyKey?: string | undefined
    }
    answers: {
      201: ApiKeyIssued
    }
  }
  /** Delete an API key. It stops working at once, and what it made ends with it: API keys, tokens, partner credentials, open invitations, and what those made. */
  'DELETE /api/v1/api-keys/{id}': {
    given: {
      path: {
        id: string
      }
      query?: {
        made?: 'delete' | 'keep' | undefined
      } | undefined
      idempotencyKey?: string | undefined
    }
    answers: {
      200: Deleted
    }
  }
  /** Rotate one of your own API keys. The answer has its new secret; the old one works until the overlap ends. */
  'POST /api/v1/api-keys/{id}/rotate': {
    given: {
      path: {
        id: string
      }
      body?: ApiKeyRotate | undefined
      idempotencyKey?: string | undefined
    }
    answers: {
      200: ApiKeyIssued
    }
  }
  /** List the audit entries of the organization, newest first. Each entry carries the hash of the one before. */
  'GET /api/v1/audit-events': {
    given: {
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
        organization_id?: string | 'platform' | undefined
      } | undefined
    }
    answers: {
      200: AuditEventList
    }
  }
  /** List the cells, newest first, with their load and the lag of their feeds. */
  'GET /api/v1/cells': {
    given: {
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: CellList
    }
  }
  /** Register a cell with the key that its daemons sign with. */
  'POST /api/v1/cells': {
    given: {
      body: CellRequest
      idempotencyKey?: string | undefined
    }
    answers: {
      201: Cell
    }
  }
  /** Change the capacity, the endpoint or the keys of a cell. A key that is left out ends at once. */
  'PATCH /api/v1/cells/{id}': {
    given: {
      path: {
        id: string
      }
      body: CellChange
      idempotencyKey?: string | undefined
    }
    answers: {
      200: Cell
    }
  }
  /** Read the switches of a cell, as it has reported them, and what was asked of them. */
  'GET /api/v1/cells/{id}/subservices': {
    given: {
      path: {
        id: string
      }
    }
    answers: {
      200: CellSwitches
    }
  }
  /** Enable or disable a sub-service in a whole cell. The cell does it within seconds of reading its feed, unless its own administrator has switched later. A session needs a sign-in of the last 10 minutes. */
  'POST /api/v1/cells/{id}/subservices/switch': {
    given: {
      path: {
        id: string
      }
      body: CellSwitchRequest
      idempotencyKey?: string | undefined
    }
    answers: {
      200: CellSwitchAnswer
    }
  }
  /** Start the sign-in of a command line. Show the code and the address, then poll. */
  'POST /api/v1/cli-logins': {
    given: {
      body?: CliLoginBegin | undefined
    }
    answers: {
      201: CliLoginBegun
    }
  }
  /** Approve the sign-in of a command line, whose code the person has compared. Needs a sign-in of the last 10 minutes. */
  'POST /api/v1/cli-logins/{id}/approve': {
    given: {
      path: {
        id: string
      }
      body: CliLoginDecision
      idempotencyKey?: string | undefined
    }
    answers: {
      200: CliLoginDecided
    }
  }
  /** Deny the sign-in of a command line, whose code the person has compared. */
  'POST /api/v1/cli-logins/{id}/deny': {
    given: {
      path: {
        id: string
      }
      body: CliLoginDecision
      idempotencyKey?: string | undefined
    }
    answers: {
      200: CliLoginDecided
    }
  }
  /** Poll the sign-in of a command line. 202 while nobody has decided, the API key once, 403 when it was denied. */
  'POST /api/v1/cli-logins/{id}/poll': {
    given: {
      path: {
        id: string
      }
      body: CliLoginPoll
    }
    answers: {
      200: CliLoginKey
      202: CliLoginPending
    }
  }
  /** Read or follow what happened in the organization. In the order of its commits, kept seven days. With `after` a page, else server-sent events (text/event-stream) from now on, or from `Last-Event-ID`. The plan bounds the streams of API keys and gateways; each session has eight. */
  'GET /api/v1/events': {
    given: {
      query?: {
        after?: number | undefined
        limit?: number | undefined
        wait?: number | undefined
      } | undefined
    }
    answers: {
      200: Events
    }
  }
  /** Accept an invitation. The person behind the caller, whose address must be the invited one, joins. */
  'POST /api/v1/invitations/accept': {
    given: {
      body: InvitationAccept
      idempotencyKey?: string | undefined
    }
    answers: {
      200: InvitationAccepted
    }
  }
  /** Register an OAuth client that people of the organization may allow. It has no secret. */
  'POST /api/v1/oauth-clients': {
    given: {
      body: OauthClientMake
      idempotencyKey?: string | undefined
    }
    answers: {
      201: OauthClient
    }
  }
  /** List the OAuth clients that the organization registered. */
  'GET /api/v1/oauth-clients': {
    given: {
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: OauthClientList
    }
  }
  /** Delete an OAuth client. What people allowed it ends within seconds. */
  'DELETE /api/v1/oauth-clients/{id}': {
    given: {
      path: {
        id: string
      }
      idempotencyKey?: string | undefined
    }
    answers: {
      200: Deleted
    }
  }
  /** List the grants that people gave to OAuth clients. By everybody with `keys:write`, otherwise by you. */
  'GET /api/v1/oauth-grants': {
    given: {
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: OauthGrantList
    }
  }
  /** End a grant of an OAuth client. Every daemon refuses its tokens within seconds. */
  'DELETE /api/v1/oauth-grants/{id}': {
    given: {
      path: {
        id: string
      }
      idempotencyKey?: string | undefined
    }
    answers: {
      200: Deleted
    }
  }
  /** Read an operation, which tells how far a command on a service has come. With ?wait= the answer comes when it is over, or when the time is. */
  'GET /api/v1/operations/{id}': {
    given: {
      path: {
        id: string
      }
      query?: {
        wait?: number | undefined
      } | undefined
    }
    answers: {
      200: Operation
    }
  }
  /** List the organizations of the caller. For an API key its own, for a session every one. */
  'GET /api/v1/organizations': {
    given: {}
    answers: {
      200: OrganizationList
    }
  }
  /** Create an organization. The person behind the caller owns it. An API key needs members:write, and stays in the one it has. */
  'POST /api/v1/organizations': {
    given: {
      body: OrganizationMake
      idempotencyKey?: string | undefined
    }
    answers: {
      201: OrganizationMade
    }
  }
  /** Invite a person by their e-mail address. The link is shown once and is good for seven days; a second invitation replaces it. */
  'POST /api/v1/organizations/{id}/invitations': {
    given: {
      path: {
        id: string
      }
      body: InvitationMake
      idempotencyKey?: string | undefined
    }
    answers: {
      201: InvitationMade
    }
  }
  /** List invitations that can still be accepted, newest first, without their links. */
  'GET /api/v1/organizations/{id}/invitations': {
    given: {
      path: {
        id: string
      }
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: InvitationList
    }
  }
  /** Withdraw an invitation. Its link stops working at once. */
  'DELETE /api/v1/organizations/{id}/invitations/{invitation_id}': {
    given: {
      path: {
        id: string
        invitation_id: string
      }
      idempotencyKey?: string | undefined
    }
    answers: {
      200: Deleted
    }
  }
  /** List the members of the organization with their roles. */
  'GET /api/v1/organizations/{id}/members': {
    given: {
      path: {
        id: string
      }
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: MemberList
    }
  }
  /** Change the role of a member. Their API keys follow at once. */
  'PATCH /api/v1/organizations/{id}/members/{user_id}': {
    given: {
      path: {
        id: string
        user_id: string
      }
      body: MemberChange
      idempotencyKey?: string | undefined
    }
    answers: {
      200: Member
    }
  }
  /** Remove a member. With it every API key, token and partner credential that the member made in the organization. */
  'DELETE /api/v1/organizations/{id}/members/{user_id}': {
    given: {
      path: {
        id: string
        user_id: string
      }
      idempotencyKey?: string | undefined
    }
    answers: {
      200: Deleted
    }
  }
  /** List billing events whose tenant is not known, newest first. They are dead after 30 days. */
  'GET /api/v1/parked-events': {
    given: {
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: ParkedEventList
    }
  }
  /** List instances that a cell holds and management does not know, oldest first. */
  'GET /api/v1/quarantine': {
    given: {}
    answers: {
      200: QuarantineList
    }
  }
  /** Have the cell erase an instance in quarantine. This cannot be undone. */
  'DELETE /api/v1/quarantine/{cell_id}/{service_id}': {
    given: {
      path: {
        cell_id: string
        service_id: string
      }
      idempotencyKey?: string | undefined
    }
    answers: {
      200: Deleted
    }
  }
  /** Adopt an instance in quarantine as a service again. As a service that its owner accepts with retry, or deletes. */
  'POST /api/v1/quarantine/{cell_id}/{service_id}/adopt': {
    given: {
      path: {
        cell_id: string
        service_id: string
      }
      idempotencyKey?: string | undefined
    }
    answers: {
      200: AdoptedResponse
    }
  }
  /** List the revocations that cells made by themselves, newest first. */
  'GET /api/v1/revocations': {
    given: {
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: CellRevocationList
    }
  }
  /** Withdraw a revocation that a cell made by itself. Its tokens are good again. Change the keys of the cell first. */
  'DELETE /api/v1/revocations/{id}': {
    given: {
      path: {
        id: string
      }
      idempotencyKey?: string | undefined
    }
    answers: {
      200: RevocationWithdrawn
    }
  }
  /** Create a service. It is made in the background: follow Operation-Location. */
  'POST /api/v1/services': {
    given: {
      headers?: {
        'Idempotency-Strict'?: string | undefined
      } | undefined
      body: CreateServiceRequest
      idempotencyKey?: string | undefined
    }
    answers: {
      202: CreateServiceResponse
    }
  }
  /** List the services of the organization, newest first. Deleted ones only when asked for. */
  'GET /api/v1/services': {
    given: {
      query?: {
        tenant_id?: string | undefined
        service_type?: string | undefined
        status?: 'provisioning' | 'active' | 'updating' | 'suspended' | 'failed' | 'deleting' | 'deleted' | undefined
        q?: string | undefined
        limit?: number | undefined
        offset?: number | undefined
      } | undefined
    }
    answers: {
      200: ListServicesResponse
    }
  }
  /** Read a service. */
  'GET /api/v1/services/{id}': {
    given: {
      path: {
        id: string
      }
    }
    answers: {
      200: Service
    }
  }
  /** Rename a service, or change its plan or config. 202 with an operation when the change must reach its cell. */
  'PATCH /api/v1/services/{id}': {
    given: {
      path: {
        id: string
      }
      body: PatchServiceRequest
      idempotencyKey?: string | undefined
    }
    answers: {
      200: Service
      202: Operation
    }
  }
  /** Delete a service and everything in it. Its quota is free at once. */
  'DELETE /api/v1/services/{id}': {
    given: {
      path: {
        id: string
      }
      idempotencyKey?: string | undefined
    }
    answers: {
      202: Operation
    }
  }
  /** Place a service that has failed in a cell of your choice. One that holds data cannot be moved yet. */
  'POST /api/v1/services/{id}/move': {
    given: {
      path: {
        id: string
      }
      body: MoveServiceRequest
      idempotencyKey?: string | undefined
    }
    answers: {
      202: Operation
    }
  }
  /** Issue a credential for a partner, bound to one database of the service. Its token is shown once. */
  'POST /api/v1/services/{id}/partner-credentials': {
    given: {
      path: {
        id: string
      }
      body: PartnerCredentialRequest
      idempotencyKey?: string | undefined
    }
    answers: {
      201: PartnerCredentialIssued
    }
  }
  /** List the partner credentials of the service, newest first, and never their tokens. */
  'GET /api/v1/services/{id}/partner-credentials': {
    given: {
      path: {
        id: string
      }
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: PartnerCredentialList
    }
  }
  /** Revoke a partner credential. Every daemon refuses it within seconds. */
  'DELETE /api/v1/services/{id}/partner-credentials/{credential_id}': {
    given: {
      path: {
        id: string
        credential_id: string
      }
      idempotencyKey?: string | undefined
    }
    answers: {
      200: Deleted
    }
  }
  /** Give a partner credential a new secret under the same id. The old one ends at once, without an overlap: for one, issue a second credential and delete the first when the partner has changed over. */
  'POST /api/v1/services/{id}/partner-credentials/{credential_id}/rotate': {
    given: {
      path: {
        id: string
        credential_id: string
      }
      body?: { [field: string]: unknown } | undefined
      idempotencyKey?: string | undefined
    }
    answers: {
      200: PartnerCredentialIssued
    }
  }
  /** Pass a GET on to the service itself, for pages of the console. What stands under /v1, by the role of who is signed in. `/v1/events` is one stream of the daemon for all pages of a service, which the limit of the plan does not count; it ends with the session. */
  'GET /api/v1/services/{id}/proxy/{path}': {
    given: {
      path: {
        id: string
        path: string
      }
    }
    answers: {
      200: unknown
      202: unknown
    }
  }
  /** Pass a POST on to the service itself, for pages of the console. What stands under /v1, by the role of who is signed in. */
  'POST /api/v1/services/{id}/proxy/{path}': {
    given: {
      path: {
        id: string
        path: string
      }
      body?: unknown | undefined
      idempotencyKey?: string | undefined
    }
    answers: {
      200: unknown
      202: unknown
    }
  }
  /** Pass a PUT on to the service itself, for pages of the console. What stands under /v1, by the role of who is signed in. */
  'PUT /api/v1/services/{id}/proxy/{path}': {
    given: {
      path: {
        id: string
        path: string
      }
      body?: unknown | undefined
      idempotencyKey?: string | undefined
    }
    answers: {
      200: unknown
      202: unknown
    }
  }
  /** Pass a PATCH on to the service itself, for pages of the console. What stands under /v1, by the role of who is signed in. */
  'PATCH /api/v1/services/{id}/proxy/{path}': {
    given: {
      path: {
        id: string
        path: string
      }
      body?: unknown | undefined
      idempotencyKey?: string | undefined
    }
    answers: {
      200: unknown
      202: unknown
    }
  }
  /** Pass a DELETE on to the service itself, for pages of the console. What stands under /v1, by the role of who is signed in. */
  'DELETE /api/v1/services/{id}/proxy/{path}': {
    given: {
      path: {
        id: string
        path: string
      }
      idempotencyKey?: string | undefined
    }
    answers: {
      200: unknown
      202: unknown
    }
  }
  /** Resume a suspended service, which accepts writes again. */
  'POST /api/v1/services/{id}/resume': {
    given: {
      path: {
        id: string
      }
      body?: { [field: string]: unknown } | undefined
      idempotencyKey?: string | undefined
    }
    answers: {
      202: Operation
    }
  }
  /** Retry the reconciliation of a service at once. A failed one is tried anew. */
  'POST /api/v1/services/{id}/retry': {
    given: {
      path: {
        id: string
      }
      body?: { [field: string]: unknown } | undefined
      idempotencyKey?: string | undefined
    }
    answers: {
      202: Operation
    }
  }
  /** Suspend a service, which refuses writes until it is resumed. Nothing is lost. */
  'POST /api/v1/services/{id}/suspend': {
    given: {
      path: {
        id: string
      }
      body?: { [field: string]: unknown } | undefined
      idempotencyKey?: string | undefined
    }
    answers: {
      202: Operation
    }
  }
  /** Read the usage of a service by minute, hour or day. */
  'GET /api/v1/services/{id}/usage': {
    given: {
      path: {
        id: string
      }
      query?: {
        from?: string | undefined
        to?: string | undefined
        step?: 'minute' | 'hour' | 'day' | undefined
      } | undefined
    }
    answers: {
      200: Usage
    }
  }
  /** List the tenants that the caller may use, newest first. */
  'GET /api/v1/tenants': {
    given: {
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: TenantList
    }
  }
  /** Create a tenant. Without a slug it gets one that is made from its name. */
  'POST /api/v1/tenants': {
    given: {
      body: TenantMake
      idempotencyKey?: string | undefined
    }
    answers: {
      201: Tenant
    }
  }
  /** Read a tenant. */
  'GET /api/v1/tenants/{id}': {
    given: {
      path: {
        id: string
      }
    }
    answers: {
      200: Tenant
    }
  }
  /** Rename a tenant. Its slug stays. */
  'PATCH /api/v1/tenants/{id}': {
    given: {
      path: {
        id: string
      }
      body: TenantChange
      idempotencyKey?: string | undefined
    }
    answers: {
      200: Tenant
    }
  }
  /** Delete a tenant that has no services. The default tenant stays. */
  'DELETE /api/v1/tenants/{id}': {
    given: {
      path: {
        id: string
      }
      idempotencyKey?: string | undefined
    }
    answers: {
      200: Deleted
    }
  }
  /** List the billing events of the tenant with their effects, newest first. */
  'GET /api/v1/tenants/{id}/billing/events': {
    given: {
      path: {
        id: string
      }
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: BillingEventList
    }
  }
  /** Reset the ordering of the billing events of a subscription. The sequences, or the times: for a provider that began to count anew. */
  'POST /api/v1/tenants/{id}/billing/ordering/reset': {
    given: {
      path: {
        id: string
      }
      body: OrderingReset
      idempotencyKey?: string | undefined
    }
    answers: {
      200: OrderingResetResult
    }
  }
  /** Read the status of a tenant. Its plan, its billing, what it may use and what it uses. */
  'GET /api/v1/tenants/{id}/status': {
    given: {
      path: {
        id: string
      }
    }
    answers: {
      200: TenantStatus
    }
  }
  /** Issue a token for a service of the tenant. It is shown once. */
  'POST /api/v1/tenants/{id}/tokens': {
    given: {
      path: {
        id: string
      }
      body?: TokenRequest | undefined
      idempotencyKey?: string | undefined
    }
    answers: {
      201: TokenResponse
    }
  }
  /** List the tokens of the tenant, newest first, and never their text. Needs tenants:read or tokens:write. */
  'GET /api/v1/tenants/{id}/tokens': {
    given: {
      path: {
        id: string
      }
      query?: {
        cursor?: string | undefined
        limit?: number | undefined
        service_id?: string | undefined
      } | undefined
    }
    answers: {
      200: TokenList
    }
  }
  /** Revoke a token. Or a registered child by its jti, or with service_id any jti. Every daemon refuses it within seconds. */
  'DELETE /api/v1/tenants/{id}/tokens/{token_id}': {
    given: {
      path: {
        id: string
        token_id: string
      }
      query?: {
        service_id?: string | undefined
      } | undefined
      idempotencyKey?: string | undefined
    }
    answers: {
      200: Deleted
    }
  }
  /** Register a capability that was narrowed offline from a token. It is then listed and can be deleted by its jti. */
  'POST /api/v1/tenants/{id}/tokens/{token_id}/children': {
    given: {
      path: {
        id: string
        token_id: string
      }
      body: TokenChildRequest
      idempotencyKey?: string | undefined
    }
    answers: {
      201: TokenChild
    }
  }
  /** Read the usage of all services of a tenant together, by minute, hour or day. */
  'GET /api/v1/tenants/{id}/usage': {
    given: {
      path: {
        id: string
      }
      query?: {
        from?: string | undefined
        to?: string | undefined
        step?: 'minute' | 'hour' | 'day' | undefined
      } | undefined
    }
    answers: {
      200: Usage
    }
  }
  /** Read the usage of each service by minute, hour or day. At most 200 steps of each. */
  'GET /api/v1/usage': {
    given: {
      query?: {
        from?: string | undefined
        to?: string | undefined
        step?: 'minute' | 'hour' | 'day' | undefined
        by?: 'service' | undefined
        cursor?: string | undefined
        limit?: number | undefined
      } | undefined
    }
    answers: {
      200: UsageByService
    }
  }
  /** Check that the billing webhook is there, and for which provider. */
  'GET /api/webhooks/billing': {
    given: {}
    answers: {
      200: BillingWebhookStatus
    }
  }
  /** Deliver a billing event of the payment provider. Give metadata.sequence or metadata.occurred_at: with either, no order of delivery and no repetition changes the outcome. */
  'POST /api/webhooks/billing': {
    given: {
      body: BillingEvent
    }
    answers: {
      200: BillingReceived
    }
  }
  /** List the deletions that the cell has reported. Instances, databases, values of records: a restored cell erases them again before it serves. */
  'GET /cell/v1/deletions': {
    given: {
      query?: {
        after?: number | undefined
      } | undefined
    }
    answers: {
      200: DeletionsResponse
    }
  }
  /** Read the changes that the cell has not applied yet. Instances, keys, revocations, partner credentials. */
  'GET /cell/v1/feed': {
    given: {
      query?: {
        after?: number | undefined
        urgent?: number | undefined
        epoch?: string | undefined
        wait?: number | undefined
      } | undefined
    }
    answers: {
      200: FeedResponse
    }
  }
  /** Report what the cell has observed and counted, and what it revoked and deleted by itself. */
  'POST /cell/v1/reports': {
    given: {
      body: ReportRequest
    }
    answers: {
      200: ReportResponse
    }
  }
  /** Read how the cell is registered with management. Each replica asks once at its start, to learn whether it is known here. */
  'GET /cell/v1/self': {
    given: {}
    answers: {
      200: CellSelf
    }
  }
  /** Show the page where a person approves a command line. After a sign-in of the last 10 minutes. */
  'GET /cli-login': {
    given: {
      query?: {
        user_code?: string | undefined
      } | undefined
    }
    answers: {
      200: string
    }
  }
  /** Approve or deny a command line. */
  'POST /cli-login': {
    given: {
      body: unknown
    }
    answers: {
      200: string
    }
  }
  /** Read a file of the console. Its name has a hash of what it holds, so it may be kept for ever. */
  'GET /console/{path}': {
    given: {
      path: {
        path: string
      }
    }
    answers: {
      200: string
    }
  }
  /** Redirect to the console, or to sign-in where nobody is signed in. An older path of the dashboard, with a slash at its end or without. */
  'GET /dashboard': {
    given: {}
    answers: {
      200: string
    }
  }
  /** Redirect to the console, or to sign-in where nobody is signed in. An older path of the dashboard, with a slash at its end or without. */
  'GET /dashboard/{path}': {
    given: {
      path: {
        path: string
      }
    }
    answers: {
      200: string
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
  /** Show the console. The same page at each of its addresses. */
  'GET /go/{path}': {
    given: {
      path: {
        path: string
      }
      headers?: {
        'If-None-Match'?: string | undefined
      } | undefined
    }
    answers: {
      200: string
    }
  }
  /** Read the state of the process and its past transitions. */
  'GET /health/lifecycle': {
    given: {}
    answers: {
      200: ManagementLifecycleStatus
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
  /** Read Prometheus metrics, at most a second old. */
  'GET /metrics': {
    given: {}
    answers: {
      200: string
    }
  }
  /** Show the console. The same page at each of its addresses. */
  'GET /o/{path}': {
    given: {
      path: {
        path: string
      }
      headers?: {
        'If-None-Match'?: string | undefined
      } | undefined
    }
    answers: {
      200: string
    }
  }
  /** Show the page where a person allows a client to use a service. After a sign-in of the last 10 minutes. */
  'GET /oauth/authorize': {
    given: {
      query?: {
        response_type?: string | undefined
        client_id?: string | undefined
        redirect_uri?: string | undefined
        code_challenge?: string | undefined
        code_challenge_method?: string | undefined
        resource?: string | undefined
        scope?: string | undefined
        state?: string | undefined
      } | undefined
    }
    answers: {
      200: string
    }
  }
  /** Allow or deny a client, as the person chose, and lead back to it. */
  'POST /oauth/authorize': {
    given: {
      body: unknown
    }
    answers: {
      200: string
    }
  }
  /** Exchange a code, or a refresh token, for an access token and the next refresh token. */
  'POST /oauth/token': {
    given: {
      body: unknown
    }
    answers: {
      200: OauthTokens
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
  /** Show the console. The same page at each of its addresses. */
  'GET /s/{path}': {
    given: {
      path: {
        path: string
      }
      headers?: {
        'If-None-Match'?: string | undefined
      } | undefined
    }
    answers: {
      200: string
    }
  }
  /** Show the console. The same page at each of its addresses. */
  'GET /services': {
    given: {
      headers?: {
        'If-None-Match'?: string | undefined
      } | undefined
    }
    answers: {
      200: string
    }
  }
  /** Show the console. The same page at each of its addresses. */
  'GET /services/{path}': {
    given: {
      path: {
        path: string
      }
      headers?: {
        'If-None-Match'?: string | undefined
      } | undefined
    }
    answers: {
      200: string
    }
  }
  /** Show the page where a person signs in. */
  'GET /sign-in': {
    given: {
      query?: {
        return_to?: string | undefined
        fresh?: 'true' | 'false' | undefined
      } | undefined
    }
    answers: {
      200: string
    }
  }
  /** Redirect to the sign-in provider. */
  'GET /sign-in/start': {
    given: {
      query?: {
        return_to?: string | undefined
        fresh?: 'true' | 'false' | undefined
      } | undefined
    }
    answers: {
      200: string
    }
  }
  /** Show the page where a person signs out. */
  'GET /sign-out': {
    given: {}
    answers: {
      200: string
    }
  }
  /** Sign out, as POST /api/auth/logout does. */
  'POST /sign-out': {
    given: {
      body?: unknown | undefined
    }
    answers: {
      200: string
    }
  }
  /** Finish a sign-in when the provider sends the browser back. Leads on at once: its address has the code. */
  'GET /signed-in': {
    given: {
      query?: {
        code?: string | undefined
        state?: string | undefined
        iss?: string | undefined
        error?: string | undefined
      } | undefined
    }
    answers: {
      200: string
    }
  }
  /** Show who is signed in, and their organizations. Who has none can make one. */
  'GET /signed-in/done': {
    given: {}
    answers: {
      200: string
    }
  }
  /** Create the first organization of the person who is signed in. POST /api/v1/organizations makes more. */
  'POST /signed-in/done': {
    given: {
      body: unknown
    }
    answers: {
      200: string
    }
  }
  /** Show the console. The same page at each of its addresses. */
  'GET /staff/{path}': {
    given: {
      path: {
        path: string
      }
      headers?: {
        'If-None-Match'?: string | undefined
      } | undefined
    }
    answers: {
      200: string
    }
  }
}

/** Those that honour an Idempotency-Key: a repeat of them is answered and not done again. */
export const MANAGEMENT_KEYED: ReadonlySet<string> = new Set([
  'POST /api/v1/api-keys',
  'DELETE /api/v1/api-keys/{id}',
  'POST /api/v1/api-keys/{id}/rotate',
  'POST /api/v1/cells',
  'PATCH /api/v1/cells/{id}',
  'POST /api/v1/cells/{id}/subservices/switch',
  'POST /api/v1/cli-logins/{id}/approve',
  'POST /api/v1/cli-logins/{id}/deny',
  'POST /api/v1/invitations/accept',
  'POST /api/v1/oauth-clients',
  'DELETE /api/v1/oauth-clients/{id}',
  'DELETE /api/v1/oauth-grants/{id}',
  'POST /api/v1/organizations',
  'POST /api/v1/organizations/{id}/invitations',
  'DELETE /api/v1/organizations/{id}/invitations/{invitation_id}',
  'PATCH /api/v1/organizations/{id}/members/{user_id}',
  'DELETE /api/v1/organizations/{id}/members/{user_id}',
  'DELETE /api/v1/quarantine/{cell_id}/{service_id}',
  'POST /api/v1/quarantine/{cell_id}/{service_id}/adopt',
  'DELETE /api/v1/revocations/{id}',
  'POST /api/v1/services',
  'PATCH /api/v1/services/{id}',
  'DELETE /api/v1/services/{id}',
  'POST /api/v1/services/{id}/move',
  'POST /api/v1/services/{id}/partner-credentials',
  'DELETE /api/v1/services/{id}/partner-credentials/{credential_id}',
  'POST /api/v1/services/{id}/partner-credentials/{credential_id}/rotate',
  'POST /api/v1/services/{id}/proxy/{path}',
  'PUT /api/v1/services/{id}/proxy/{path}',
  'PATCH /api/v1/services/{id}/proxy/{path}',
  'DELETE /api/v1/services/{id}/proxy/{path}',
  'POST /api/v1/services/{id}/resume',
  'POST /api/v1/services/{id}/retry',
  'POST /api/v1/services/{id}/suspend',
  'POST /api/v1/tenants',
  'PATCH /api/v1/tenants/{id}',
  'DELETE /api/v1/tenants/{id}',
  'POST /api/v1/tenants/{id}/billing/ordering/reset',
  'POST /api/v1/tenants/{id}/tokens',
  'DELETE /api/v1/tenants/{id}/tokens/{token_id}',
  'POST /api/v1/tenants/{id}/tokens/{token_id}/children',
])

/** Any value that a later server may add: compare with those you know, and take the others too. */
type Other = string & {}

export type AdoptedResponse = {
  adopted: true
}

export type ApiKey = {
  id: string
  user_id: string
  made_by: string | null
  session_id: string | null
  name: string
  scopes: ('services:read' | 'services:write' | 'tokens:write' | 'tenants:read' | 'tenants:write' | 'billing:read' | 'keys:write' | 'members:write' | 'audit:read' | 'usage:read' | 'events:read' | 'staff' | Other)[]
  tenant_ids: string[] | null
  created_at: string
  expires_at: string | null
  last_used_at: string | null
  previous_until: string | null
}

export type ApiKeyIssued = {
  id: string
  user_id: string
  made_by: string | null
  session_id: string | null
  name: string
  scopes: ('services:read' | 'services:write' | 'tokens:write' | 'tenants:read' | 'tenants:write' | 'billing:read' | 'keys:write' | 'members:write' | 'audit:read' | 'usage:read' | 'events:read' | 'staff' | Other)[]
  tenant_ids: string[] | null
  created_at: string
  expires_at: string | null
  last_used_at: string | null
  previous_until: string | null
  secret: string
}

export type ApiKeyList = {
  api_keys: ApiKey[]
  next_cursor: string | null
}

export type ApiKeyMake = {
  name: string
  scopes?: ('services:read' | 'services:write' | 'tokens:write' | 'tenants:read' | 'tenants:write' | 'billing:read' | 'keys:write' | 'members:write' | 'audit:read' | 'usage:read' | 'events:read' | 'staff')[] | undefined
  tenant_ids?: string[] | undefined
  expires_in?: number | undefined
}

export type ApiKeyRotate = {
  overlap_seconds?: number | undefined
}

export type AuditEventList = {
  entries: ({
    id: string
    seq: number
    at: string
    actor: string
    action: string
    subject: string
    outcome: string
    request_id: string | null
    detail: { [field: string]: unknown }
    hash: string
    prev_hash: string | null
  })[]
  next_cursor: string | null
}

export type AuthorizationServer = {
  issuer: string
  authorization_endpoint: string
  token_endpoint: string
  response_types_supported: string[]
  response_modes_supported: string[]
  grant_types_supported: string[]
  code_challenge_methods_supported: string[]
  token_endpoint_auth_methods_supported: string[]
  scopes_supported: string[]
  authorization_response_iss_parameter_supported: true
  client_id_metadata_document_supported: true
}

export type BillingEvent = {
  eventType: 'subscription.created' | 'subscription.updated' | 'subscription.cancelled' | 'subscription.deleted' | 'payment.succeeded' | 'payment.failed' | 'invoice.payment_succeeded' | 'invoice.payment_failed'
  tenantId: string
  customerId?: string | undefined
  subscriptionId?: string | undefined
  plan: 'free' | 'starter' | 'pro' | 'enterprise'
  status: 'active' | 'cancelled' | 'past_due' | 'unpaid'
  currentPeriodStart?: string | undefined
  currentPeriodEnd?: string | undefined
  metadata?: { [field: string]: string } | undefined
}

export type BillingEventList = {
  events: ({
    id: string
    event_type: string
    customer_id: string | null
    subscription_id: string | null
    counts_for: string | null
    plan: 'free' | 'starter' | 'pro' | 'enterprise' | Other
    status: 'active' | 'cancelled' | 'past_due' | 'unpaid' | Other
    effect: 'applied' | 'superseded' | 'unordered' | 'parked' | 'dead' | Other
    sequence: number | null
    occurred_at: string | null
    received_at: string
    current_period_start: string | null
    current_period_end: string | null
    metadata: { [field: string]: string } | null
    warnings: string[]
  })[]
  next_cursor: string | null
}

export type BillingReceived = {
  received: true
}

export type BillingWebhookStatus = {
  status: 'active'
  configured: boolean
  webhook: string
  timestamp: string
}

export type CapabilityKeys = {
  keys: ({
    kty: 'OKP'
    crv: 'Ed25519'
    x: string
    kid: string
    alg: 'EdDSA'
    use: 'sig'
  })[]
}

export type Cell = {
  id: string
  name: string
  region: string
  capacity: number
  placed: number
  endpoint: string
  public_keys: string[]
  tenant_id: string | null
  created_at: string
  heard_at: string | null
  heard_seq: number
  feed_seq: number
  lag: number
  alarm: {
    kind: 'two_addresses' | 'generation' | 'unknown' | 'foreign' | 'erased' | 'revocations' | 'deletions' | Other
    at: string
    detail: string
  } | null
}

export type CellChange = {
  capacity?: number | undefined
  endpoint?: string | undefined
  public_keys?: string[] | undefined
}

export type CellList = {
  cells: Cell[]
  next_cursor: string | null
}

export type CellRequest = {
  name: string
  region: string
  capacity: number
  endpoint: string
  public_key: string
  tenant_id?: string | undefined
}

export type CellRevocationList = {
  revocations: ({
    id: string
    cell_id: string
    kind: 'jti' | 'org' | 'ten' | 'svc' | Other
    value: string
    organization_id: string | null
    not_before: string | null
    expires_at: string
    created_at: string
    withdrawn_at: string | null
  })[]
  next_cursor: string | null
}

export type CellSelf = {
  id: string
  name: string
  region: string
  epoch: string
  instances: number
}

export type CellSwitchAnswer = {
  service: string
  previous: boolean
  current: boolean
  changed: boolean
  dry_run: boolean
  instances: number
}

export type CellSwitchRequest = {
  service: string
  enabled: boolean
  reason: string
  auto_revert_ms?: number | undefined
  dry_run?: boolean | undefined
}

export type CellSwitches = {
  cell_id: string
  reported_at: string | null
  subservices: ({
    name: string
    enabled: boolean
    required: boolean
    depends_on: string[]
    since: string
    changed_by: string | null
    reason: string | null
    auto_revert_at: string | null
    wanted: {
      enabled: boolean
      at: string
      by: string
      reason: string
      auto_revert_at: string | null
      state: 'pending' | 'applied' | 'overtaken' | 'refused' | 'expired' | Other
    } | null
  })[]
}

export type CliLoginBegin = { [field: string]: unknown }

export type CliLoginBegun = {
  id: string
  user_code: string
  device_code: string
  verification_url: string
  interval: number
  expires_in: number
}

export type CliLoginDecided = {
  id: string
  status: 'approved' | 'denied' | Other
}

export type CliLoginDecision = {
  user_code: string
}

export type CliLoginKey = {
  api_key: string
  organization_id: string
  expires_at: string
}

export type CliLoginPending = {
  status: 'pending'
}

export type CliLoginPoll = {
  device_code: string
}

export type CreateServiceRequest = {
  service_type: string
  name: string
  slug?: string | undefined
  plan?: 'free' | 'starter' | 'pro' | 'enterprise' | undefined
  region?: string | undefined
  config?: { [field: string]: unknown } | undefined
  tenant_id?: string | undefined
}

export type CreateServiceResponse = {
  service_id: string
  service_type: string
  name: string
  slug: string
  endpoint?: string
  status: 'provisioning'
  created_at: string
  estimated_ready_in: number
}

export type Deleted = {
  deleted: true
}

export type DeletionsResponse = {
  deletions: ({
    seq: number
    svc: string
    database?: string
    generation: number | null
    value_mac?: string
    database_seq?: number
    override?: boolean
    at: string
  })[]
  next: number
  more: boolean
  epoch?: string
}

export type Event = {
  id: string
  seq: number
  type: string
  at: string
  subject: string
  data: { [field: string]: unknown }
}

export type Events = {
  events: Event[]
  next: number
  truncated?: true
}

export type ExchangeRequest = {
  code: string
  redirect_uri: string
  code_verifier: string
}

export type ExchangeResponse = {
  authenticated: true
  expires_at: string
  expires_in: number
}

export type FeedResponse = {
  epoch: string
  full: boolean
  next: number
  urgent?: number
  more: boolean
  ledger?: number
  switches?: ({
    service: string
    enabled: boolean
    at: string
    by: string
    reason: string
    auto_revert_at: string | null
  })[]
  items: ({
    seq: number
    kind: 'instance'
    key: string
    body: {
      org: string
      ten: string
      svc: string
      service_type: string
      plan: string
      state: 'active' | 'suspended' | 'deleted' | Other
      state_reason: string | null
      generation: number
      limits: {
        databases: number
        records: number
        bytes: number
        bytes_written_per_day?: number
        history_days?: number
        requests_per_second: number
        burst: number
        streams: number
        organization_rate?: number
      }
      config: { [field: string]: unknown }
    }
  } | {
    seq: number
    kind: 'key'
    key: string
    body: {
      kid: string
      x: string
      state: 'active' | 'retiring' | 'removed' | Other
      retire_at: string | null
    }
  } | {
    seq: number
    kind: 'revocation'
    key: string
    body: {
      svc: string | '*'
      jti: string
      expires_at: string
      revoked_at?: string
      withdrawn?: true
    } | {
      kind: 'org' | 'ten' | 'svc' | 'sub' | Other
      id: string
      not_before: string
      expires_at: string
      withdrawn?: true
    }
  } | {
    seq: number
    kind: 'partner_credential'
    key: string
    body: {
      id: string
      partner: string
      svc: string
      org: string
      ten: string
      database: string
      projection_classes: string[]
      routes: string[]
      digest: string
      state: 'active' | 'revoked' | Other
      expires_at: string | null
    }
  })[]
}

export type HealthResponse = {
  status: 'ok'
}

export type Invitation = {
  id: string
  email: string
  role: 'owner' | 'admin' | 'member' | 'viewer' | Other
  invited_by: string
  created_at: string
  expires_at: string
}

export type InvitationAccept = {
  token: string
}

export type InvitationAccepted = {
  organization_id: string
  name: string
  role: 'owner' | 'admin' | 'member' | 'viewer' | Other
}

export type InvitationList = {
  invitations: Invitation[]
  next_cursor: string | null
}

export type InvitationMade = {
  id: string
  email: string
  role: 'owner' | 'admin' | 'member' | 'viewer' | Other
  invited_by: string
  created_at: string
  expires_at: string
  token: string
  link: string
}

export type InvitationMake = {
  email: string
  role: 'owner' | 'admin' | 'member' | 'viewer'
}

export type ListServicesResponse = {
  services: ({
    id: string
    service_type_id: string
    tenant_id: string
    name: string
    slug: string
    endpoint: string | null
    plan: 'free' | 'starter' | 'pro' | 'enterprise' | Other
    region: string
    status: 'provisioning' | 'active' | 'updating' | 'suspended' | 'failed' | 'deleting' | 'deleted' | Other
    status_reason: string | null
    created_at: string
    [field: string]: unknown
  })[]
  pagination: {
    total: number
    limit: number
    offset: number
    searched_all?: boolean
  }
}

export type LogoutRequest = {
  revoke_issued?: boolean | undefined
}

export type ManagementLifecycleStatus = {
  state: 'starting' | 'migrating' | 'warming' | 'ready' | 'degraded' | 'draining' | 'stopped' | 'failed' | Other
  since: string
  accepting_requests: boolean
  reasons: string[]
  transitions: ({
    from: 'starting' | 'migrating' | 'warming' | 'ready' | 'degraded' | 'draining' | 'stopped' | 'failed' | Other | null
    to: 'starting' | 'migrating' | 'warming' | 'ready' | 'degraded' | 'draining' | 'stopped' | 'failed' | Other
    at: string
    reason: string
  })[]
  drain: {
    deadline: string | null
    in_flight: number
  }
}

export type Member = {
  user_id: string
  email: string
  name: string | null
  role: 'owner' | 'admin' | 'member' | 'viewer' | Other
  created_at: string
}

export type MemberChange = {
  role: 'owner' | 'admin' | 'member' | 'viewer'
}

export type MemberList = {
  members: Member[]
  next_cursor: string | null
}

export type MoveServiceRequest = {
  cell_id: string
}

export type OauthClient = {
  id: string
  name: string
  redirect_uris: string[]
  created_at: string
}

export type OauthClientList = {
  oauth_clients: OauthClient[]
  next_cursor: string | null
}

export type OauthClientMake = {
  name: string
  redirect_uris: string[]
}

export type OauthGrant = {
  id: string
  user_id: string
  tenant_id: string
  service_id: string
  client_id: string
  client_name: string
  ops: string[]
  databases: string[]
  created_at: string
  expires_at: string
  last_used_at: string | null
}

export type OauthGrantList = {
  oauth_grants: OauthGrant[]
  next_cursor: string | null
}

export type OauthTokens = {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token: string
  scope: string
}

export type Operation = {
  id: string
  service_id: string
  kind: 'provision' | 'update' | 'suspend' | 'resume' | 'move' | 'delete' | Other
  status: 'pending' | 'running' | 'succeeded' | 'failed' | 'superseded' | Other
  percent: number
  steps: ({
    name: string
    status: string
    started_at: string | null
    completed_at: string | null
    detail: string | null
  })[]
  error?: {
    code: string
    message: string
  }
  created_at: string
  updated_at: string
}

export type OrderingReset = {
  subscription_id: string
  ordering: 'sequence' | 'occurred_at'
}

export type OrderingResetResult = {
  subscription_id: string
  ordering: 'sequence' | 'occurred_at' | Other
  events: number
}

export type Organization = {
  id: string
  name: string
  plan: 'free' | 'starter' | 'pro' | 'enterprise' | Other
  role: 'owner' | 'admin' | 'member' | 'viewer' | Other
  created_at: string
}

export type OrganizationList = {
  organizations: Organization[]
  next_cursor: string | null
}

export type OrganizationMade = {
  id: string
  name: string
  plan: 'free' | 'starter' | 'pro' | 'enterprise' | Other
  role: 'owner' | 'admin' | 'member' | 'viewer' | Other
  created_at: string
  default_tenant_id: string
}

export type OrganizationMake = {
  name: string
}

export type ParkedEventList = {
  events: ({
    id: string
    event_type: string
    customer_id: string | null
    subscription_id: string | null
    counts_for: string | null
    plan: 'free' | 'starter' | 'pro' | 'enterprise' | Other
    status: 'active' | 'cancelled' | 'past_due' | 'unpaid' | Other
    effect: 'applied' | 'superseded' | 'unordered' | 'parked' | 'dead' | Other
    sequence: number | null
    occurred_at: string | null
    received_at: string
    current_period_start: string | null
    current_period_end: string | null
    metadata: { [field: string]: string } | null
    warnings: string[]
    tenant_id: string
  })[]
  next_cursor: string | null
}

export type PartnerCredentialIssued = {
  id: string
  service_id: string
  name: string
  made_by: string | null
  partner: string
  database: string
  projection_classes: string[]
  routes: string[]
  created_at: string
  expires_at: string | null
  rotated_at: string | null
  last_used_at: string | null
  token: string
}

export type PartnerCredentialList = {
  partner_credentials: ({
    id: string
    service_id: string
    name: string
    made_by: string | null
    partner: string
    database: string
    projection_classes: string[]
    routes: string[]
    created_at: string
    expires_at: string | null
    rotated_at: string | null
    last_used_at: string | null
  })[]
  next_cursor: string | null
}

export type PartnerCredentialRequest = {
  name: string
  database: string
  partner?: string | undefined
  projection_classes?: string[] | undefined
  routes?: string[] | undefined
  expires_in?: number | undefined
}

export type PatchServiceRequest = {
  name?: string | undefined
  plan?: 'free' | 'starter' | 'pro' | 'enterprise' | undefined
  config?: { [field: string]: unknown } | undefined
}

export type QuarantineList = {
  instances: ({
    service_id: string
    cell_id: string
    organization_id: string
    tenant_id: string
    service_type: string
    plan: string
    state: string
    generation: number
    first_seen_at: string
    last_seen_at: string
  })[]
}

export type ReadyResponse = {
  status: 'ok' | 'degraded' | Other
}

export type ReportRequest = {
  report_id: string
  observed?: ({
    svc: string
    generation: number
    state: 'active' | 'suspended' | 'deleted' | 'failed'
  })[] | undefined
  unknown?: ({
    svc: string
    org: string
    ten: string
    service_type: string
    plan: 'free' | 'starter' | 'pro' | 'enterprise'
    generation: number
    state: 'active' | 'suspended' | 'deleted' | 'failed'
  })[] | undefined
  usage?: ({
    svc: string
    minute: string
    dedup: string
    requests: number
    writes: number
    records: number
    bytes: number
    units?: number | undefined
    routes?: ({
      route: string
      units: number
    })[] | undefined
    errors?: number | undefined
    cycles?: number | undefined
    evictions?: number | undefined
    latency?: number[] | undefined
  })[] | undefined
  revocations?: ({
    kind: 'jti' | 'org' | 'ten' | 'svc'
    value: string
    not_before: string | null
    expires_at: string
    audit_id: string | null
  })[] | undefined
  deletions?: ({
    svc: string
    database?: string | undefined
    generation?: number | undefined
    value_mac?: string | undefined
    database_seq?: number | undefined
    override?: boolean | undefined
    at: string
  })[] | undefined
  switches?: ({
    name: string
    enabled: boolean
    since: string
    changed_by: string | null
    reason: string | null
    auto_revert_at: string | null
    told_at: string | null
    outcome: 'applied' | 'overtaken' | 'refused' | 'expired' | null
  })[] | undefined
  last_used?: ({
    credential: string
    at: string
  })[] | undefined
}

export type ReportResponse = {
  accepted: true
  refused: string[]
  ledger?: number
}

export type RevocationWithdrawn = {
  withdrawn: true
}

export type Service = {
  id: string
  service_type_id: string
  tenant_id: string
  name: string
  slug: string
  endpoint: string | null
  plan: 'free' | 'starter' | 'pro' | 'enterprise' | Other
  region: string
  status: 'provisioning' | 'active' | 'updating' | 'suspended' | 'failed' | 'deleting' | 'deleted' | Other
  status_reason: string | null
  created_at: string
  config: { [field: string]: unknown }
  service_type: string
  cell: string | null
  operation_id: string | null
  subservices?: ({
    name: string
    enabled: boolean
    since: string
    auto_revert_at: string | null
  })[]
  updated_at: string
}

export type SessionEnded = {
  logged_out: true
  sign_out_url: string | null
  revoked: {
    session: boolean
    refresh_token: boolean
    issued?: {
      api_keys: number
      cli_logins: number
      tokens: number
      partner_credentials: number
      invitations: number
      oauth_grants: number
    }
  }
}

export type SessionShown = {
  authenticated: true
  user: {
    id: string
    email: string
    name: string | null
    picture: string | null
  }
  staff: boolean
  organizations: ({
    id: string
    name: string
    role: 'owner' | 'admin' | 'member' | 'viewer' | Other
    scopes: string[]
    ops: string[]
  })[]
  signed_in_at: string
  expires_at: string
}

export type SessionToken = {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  expires_at: string
}

export type SessionWhole = {
  user: {
    id: string
    email: string
    name: string | null
  }
  access_token: string
  token_type: 'Bearer'
  expires_at: string
} | null

export type StartupResponse = {
  status: 'ok'
  services: { [field: string]: string }
}

export type Tenant = {
  id: string
  organization_id: string
  name: string
  slug: string
  plan: 'free' | 'starter' | 'pro' | 'enterprise' | Other
  status: 'active' | 'past_due' | 'suspended' | Other
  is_default: boolean
  created_at: string
  updated_at: string
}

export type TenantChange = {
  name: string
}

export type TenantList = {
  tenants: Tenant[]
  next_cursor: string | null
}

export type TenantMake = {
  name: string
  slug?: string | undefined
}

export type TenantStatus = {
  tenant_id: string
  organization_id: string
  status: 'active' | 'past_due' | 'suspended' | Other
  status_reason: string | null
  plan: 'free' | 'starter' | 'pro' | 'enterprise' | Other
  covered_plan: 'free' | 'starter' | 'pro' | 'enterprise' | Other
  billing: {
    status: 'active' | 'cancelled' | 'past_due' | 'unpaid' | Other | null
    customer_id: string | null
    subscription_id: string | null
    current_period_start: string | null
    current_period_end: string | null
    grace_ends_at: string | null
    suspended_since: string | null
    reads_end_at: string | null
    deletion_at: string | null
    last_event_at: string | null
  }
  limits: {
    services: {
      limit: number
      used: number
    }
    databases: {
      limit: number
    }
    records: {
      limit: number
    }
    bytes: {
      limit: number
    }
    bytes_written_per_day?: {
      limit: number
    }
    requests_per_second: {
      limit: number
    }
  }
  services: {
    total: number
    by_status: { [field: string]: number }
  }
  updated_at: string
}

export type TokenChild = {
  jti: string
  parent_id: string
  name: string | null
  ops: string[] | null
  expires_at: string
  registered_at: string
  revoked_at: string | null
}

export type TokenChildRequest = {
  jti: string
  exp: number
  name?: string | undefined
  ops?: string[] | undefined
}

export type TokenList = {
  tokens: ({
    token_id: string
    name: string | null
    tenant_id: string
    service_id: string
    ops: string[]
    keyspaces: string[]
    sub: string | null
    made_by: string | null
    max_delegation_depth: number
    issued_at: string
    expires_at: string
    revoked_at: string | null
    last_used_at: string | null
    children: ({
      jti: string
      parent_id: string
      name: string | null
      ops: string[] | null
      expires_at: string
      registered_at: string
      revoked_at: string | null
    })[]
    children_total: number
  })[]
  next_cursor: string | null
}

export type TokenRequest = {
  service_id?: string | undefined
  name?: string | undefined
  ops?: string[] | undefined
  databases?: string[] | undefined
  ttl_seconds?: number | undefined
  max_delegation_depth?: number | undefined
  holder_key?: unknown | undefined
}

export type TokenResponse = {
  token_id: string
  token: string
  token_type: 'loci-capability'
  header: string
  organization_id: string
  tenant_id: string
  service_id: string
  ops: string[]
  keyspaces: string[]
  issued_at: string
  expires_at: string
  expires_in: number
  delegation?: {
    chain: string
    key: {
      kty: 'OKP'
      crv: 'Ed25519'
      x: string
      d: string
    }
  }
}

export type Usage = {
  usage: ({
    at: string
    requests: number
    writes: number
    records: number
    bytes: number
    units: number
    errors: number
    p50_ms: number | null
    p95_ms: number | null
    cycles: number
    evictions: number
  })[]
  dearest: ({
    route: string
    units: number
  })[]
  from: string
  to: string
  step: 'minute' | 'hour' | 'day' | Other
}

export type UsageByService = {
  services: ({
    service_id: string
    usage: ({
      at: string
      requests: number
      writes: number
      records: number
      bytes: number
      units: number
      errors: number
      p50_ms: number | null
      p95_ms: number | null
      cycles: number
      evictions: number
    })[]
  })[]
  from: string
  to: string
  step: 'minute' | 'hour' | 'day' | Other
  next_cursor: string | null
}
