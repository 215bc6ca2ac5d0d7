/**
 * Every advisory lock of both programs. A number has one meaning, also where two databases would keep two apart: who
 * reads it in pg_locks finds it here. SQL functions can not import; tidy holds the numbers in them against this list.
 */
export const ADVISORY_LOCKS = {
  /** One migration at a time. */
  migrate: 7_026_300_001,
  /** keep_audit_partitions() of both programs. */
  auditPartitions: 7_026_300_002,
  /** Who publishes to all cells, and who adds one. */
  allCells: 7_026_300_003,
  /** With the id of an instance: shared by whoever writes to it, alone by whoever erases it or puts it back. */
  instance: 7_026_300_004,
  /** With organization and address. */
  invitation: 7_026_300_005,
  firstOrganization: 7_026_300_006,
  /** keep_event_partitions(). */
  eventPartitions: 7_026_300_007,
  /** Who changes the key set. */
  signingKeys: 7_026_300_008,
  /** With the id of a tenant that may not be there yet: who parks an event of it, and who makes it. */
  parkedTenant: 7_026_300_009,
  /** With the scope of an Idempotency-Key: who claims it inside a function (claim_keys). */
  idempotencyKey: 7_026_300_011,
  /** The template of the databases of tests. */
  testTemplate: 7_026_300_010,
  /** keep_slot_partitions(). */
  slotPartitions: 7_026_300_012,
  /** With issuer and subject: who signs in for the first time. */
  person: 7_026_300_020,
} as const
