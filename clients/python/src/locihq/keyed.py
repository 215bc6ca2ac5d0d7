# Generated from docs/api by scripts/documents.ts; run that, do not edit this.
# The operations that honour an Idempotency-Key: a repeat of them is answered and not done again.

DAEMON_KEYED = frozenset(
    {
        "POST /v1/advice/outcomes",
        "POST /v1/cognitive/cycles",
        "POST /v1/kv/entries/batch",
        "POST /v1/memory/records",
        "POST /v1/memory/records/batch",
        "POST /v1/working-memory/slots/batch",
        "POST /v1/working-memory/slots/clear",
        "POST /v1/working-memory/slots/restore",
    }
)

MANAGEMENT_KEYED = frozenset(
    {
        "POST /api/v1/api-keys",
        "DELETE /api/v1/api-keys/{id}",
        "POST /api/v1/api-keys/{id}/rotate",
        "POST /api/v1/cells",
        "PATCH /api/v1/cells/{id}",
        "POST /api/v1/cells/{id}/subservices/switch",
        "POST /api/v1/cli-logins/{id}/approve",
        "POST /api/v1/cli-logins/{id}/deny",
        "POST /api/v1/invitations/accept",
        "POST /api/v1/oauth-clients",
        "DELETE /api/v1/oauth-clients/{id}",
        "DELETE /api/v1/oauth-grants/{id}",
        "POST /api/v1/organizations",
        "POST /api/v1/organizations/{id}/invitations",
        "DELETE /api/v1/organizations/{id}/invitations/{invitation_id}",
        "PATCH /api/v1/organizations/{id}/members/{user_id}",
        "DELETE /api/v1/organizations/{id}/members/{user_id}",
        "DELETE /api/v1/quarantine/{cell_id}/{service_id}",
        "POST /api/v1/quarantine/{cell_id}/{service_id}/adopt",
        "DELETE /api/v1/revocations/{id}",
        "POST /api/v1/services",
        "PATCH /api/v1/services/{id}",
        "DELETE /api/v1/services/{id}",
        "POST /api/v1/services/{id}/move",
        "POST /api/v1/services/{id}/partner-credentials",
        "DELETE /api/v1/services/{id}/partner-credentials/{credential_id}",
        "POST /api/v1/services/{id}/partner-credentials/{credential_id}/rotate",
        "POST /api/v1/services/{id}/proxy/{path}",
        "PUT /api/v1/services/{id}/proxy/{path}",
        "PATCH /api/v1/services/{id}/proxy/{path}",
        "DELETE /api/v1/services/{id}/proxy/{path}",
        "POST /api/v1/services/{id}/resume",
        "POST /api/v1/services/{id}/retry",
        "POST /api/v1/services/{id}/suspend",
        "POST /api/v1/tenants",
        "PATCH /api/v1/tenants/{id}",
        "DELETE /api/v1/tenants/{id}",
        "POST /api/v1/tenants/{id}/billing/ordering/reset",
        "POST /api/v1/tenants/{id}/tokens",
        "DELETE /api/v1/tenants/{id}/tokens/{token_id}",
        "POST /api/v1/tenants/{id}/tokens/{token_id}/children",
    }
)
