// The error codes of both services. A code is the contract; its message is written where it is thrown.
// docs/api/errors.md and the error answers of both OpenAPI documents are generated from this table.

interface ErrorKind {
  status: number
  /** Whether the same request may succeed later, unchanged. */
  retryable: boolean
  meaning: string
}

const table = {
  VALIDATION_ERROR: {
    status: 400,
    retryable: false,
    meaning: 'The request does not have the documented form; `details` names each field.',
  },
  CONFIG_INVALID: {
    status: 400,
    retryable: false,
    meaning: 'A configuration value is out of range; `details` names each key.',
  },
  ORGANIZATION_REQUIRED: {
    status: 400,
    retryable: false,
    meaning: 'The caller belongs to several organizations and the request names none of them.',
  },

  UNAUTHENTICATED: { status: 401, retryable: false, meaning: 'No credential, or one that does not verify.' },
  CAPABILITY_UNSEALED: {
    status: 401,
    retryable: false,
    meaning: 'The last link of the capability carries a key: it can be narrowed but not used.',
  },
  CAPABILITY_EXPIRED: { status: 401, retryable: false, meaning: 'The capability, or a link of it, has expired.' },
  CAPABILITY_REVOKED: { status: 401, retryable: false, meaning: 'The capability, or a link of it, was revoked.' },
  CREDENTIAL_MISPLACED: {
    status: 401,
    retryable: false,
    meaning: 'The credential is in the wrong header; the message names the right one.',
  },

  PAYMENT_REQUIRED: {
    status: 402,
    retryable: false,
    meaning: 'The tenant is suspended for payment: reads and deletions go on for 30 days, writes do not.',
  },
  PLAN_NOT_COVERED: {
    status: 402,
    retryable: false,
    meaning: 'The tenant’s billing does not cover the plan that was asked for.',
  },

  FORBIDDEN: { status: 403, retryable: false, meaning: 'The caller is known and may not do this.' },
  OPERATION_NOT_ALLOWED: {
    status: 403,
    retryable: false,
    meaning: 'The credential lacks the operation that the message names.',
  },
  OPERATOR_REQUIRED: {
    status: 403,
    retryable: false,
    meaning: 'Only an undelegated operator capability opens this route.',
  },
  IDENTITY_MISMATCH: { status: 403, retryable: false, meaning: 'An identity header differs from the credential.' },
  DATABASE_MISMATCH: {
    status: 403,
    retryable: false,
    meaning: 'The credential’s keyspaces do not cover the database.',
  },
  ADDRESS_NOT_ALLOWED: {
    status: 403,
    retryable: false,
    meaning: 'The client’s address is not in `LOCI_ADMIN_ALLOWLIST`.',
  },
  ORIGIN_NOT_ALLOWED: { status: 403, retryable: false, meaning: 'A browser sent this from another site.' },
  HTTPS_REQUIRED: {
    status: 403,
    retryable: false,
    meaning: 'The request did not arrive by TLS and the deployment demands it.',
  },
  QUOTA_EXCEEDED: {
    status: 403,
    retryable: false,
    meaning: 'The plan’s storage or count is used up; deletions go on.',
  },

  NOT_FOUND: { status: 404, retryable: false, meaning: 'It does not exist, or it is not yours.' },
  METHOD_NOT_ALLOWED: {
    status: 405,
    retryable: false,
    meaning: 'The path exists, but not with this method; `Allow` lists those it has.',
  },
  REQUEST_TIMEOUT: { status: 408, retryable: true, meaning: 'The request was not received completely in time.' },

  CYCLE_BUSY: { status: 409, retryable: true, meaning: 'Another cycle of this database is running.' },
  SLUG_TAKEN: {
    status: 409,
    retryable: false,
    meaning: 'The organization already has a service, or a tenant, with this slug.',
  },
  WORKING_MEMORY_FULL: {
    status: 409,
    retryable: false,
    meaning: 'Working memory is full and its policy is to reject.',
  },
  PROJECTION_CONFLICT: {
    status: 409,
    retryable: false,
    meaning: 'The same source event was projected before with other content.',
  },
  MEMORY_FORGOTTEN: {
    status: 409,
    retryable: false,
    meaning: 'This content was erased on request; storing it again needs `override`.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    retryable: true,
    meaning: 'The first request with this idempotency key is still running.',
  },
  IDEMPOTENCY_REPLAY_WITHHELD: {
    status: 409,
    retryable: false,
    meaning: 'The first request issued a credential, which is shown once only.',
  },
  INVALID_STATE: { status: 409, retryable: false, meaning: 'The current state of the resource does not allow this.' },
  DEPENDENCY_DISABLED: { status: 409, retryable: false, meaning: 'A sub-service that this one needs is disabled.' },
  SUBSERVICE_REQUIRED: { status: 409, retryable: false, meaning: 'The sub-service cannot be disabled.' },

  VERSION_CONFLICT: {
    status: 412,
    retryable: false,
    meaning: 'What is there has another version than the condition asked for, or is there and must not be.',
  },
  PAYLOAD_TOO_LARGE: { status: 413, retryable: false, meaning: 'The body, or a value in it, is over its limit.' },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    retryable: false,
    meaning: 'The body is not JSON in UTF-8, or not a form where one is asked for.',
  },
  SERVICE_MOVED: {
    status: 421,
    retryable: false,
    meaning: 'The instance lives in another cell; `details.endpoint` says where.',
  },

  SERVICE_TYPE_UNAVAILABLE: {
    status: 422,
    retryable: false,
    meaning: 'This service type cannot be provisioned; the message lists those that can.',
  },
  SERVICE_REQUIRED: {
    status: 422,
    retryable: false,
    meaning: 'The tenant has several services and the request names none of them.',
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    retryable: false,
    meaning: 'The idempotency key was used before with another body.',
  },
  PROVIDER_TOKEN_UNUSABLE: {
    status: 422,
    retryable: false,
    meaning: 'The sign-in provider’s access token cannot be used; the message names the setting to change.',
  },

  RATE_LIMITED: {
    status: 429,
    retryable: true,
    meaning:
      'Too many requests; `Retry-After` says when to come back. On the data plane a request costs 1, and beyond that what it was measured to use: 1.5 ms of processor time are one unit, `x-loci-cost` says how many it was, `RateLimit` what is left, and `GET /api/v1/services/{id}/usage` what cost most. Smaller pages, shorter texts and fewer records in a batch cost less.',
  },
  HEADERS_TOO_LARGE: { status: 431, retryable: false, meaning: 'The headers are over their limit.' },

  INTERNAL_ERROR: {
    status: 500,
    retryable: false,
    meaning: 'An unexpected failure; the request id finds it in the log.',
  },
  DATA_DAMAGED: {
    status: 500,
    retryable: false,
    meaning: 'The stored data does not match its digest and is not returned.',
  },
  OUTCOME_UNKNOWN: {
    status: 500,
    retryable: true,
    meaning: 'The write may or may not have happened: repeat it with the same Idempotency-Key, or read again.',
  },

  STARTING: { status: 503, retryable: true, meaning: 'The process is starting.' },
  DRAINING: { status: 503, retryable: true, meaning: 'The process is shutting down; another replica serves.' },
  OVERLOADED: {
    status: 503,
    retryable: true,
    meaning: 'The process is at its limit of concurrent work; nothing was done.',
  },
  STORE_UNAVAILABLE: {
    status: 503,
    retryable: true,
    meaning:
      'The database does not answer, is too slow, full or read-only, or refuses the login: the message says which. Nothing was done.',
  },
  SUBSERVICE_DISABLED: { status: 503, retryable: false, meaning: 'An operator switched this sub-service off.' },
  AUTHORITY_STALE: {
    status: 503,
    retryable: true,
    meaning:
      'The cell has been without contact to management, or the replica without its database, for too long to accept this.',
  },
  IDENTITY_PROVIDER_UNAVAILABLE: {
    status: 503,
    retryable: true,
    meaning: 'The sign-in provider does not answer; nobody was signed out.',
  },
} as const satisfies Record<string, ErrorKind>

export type ErrorCode = keyof typeof table

export const ERRORS: Readonly<Record<ErrorCode, ErrorKind>> = table
export const ERROR_CODES = Object.keys(table) as ErrorCode[]
