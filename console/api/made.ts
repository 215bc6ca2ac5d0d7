// What ends with an API key or with a member: what they made, and what those made. The server decides; this says it
// before. Tokens carry who asked for them in `sub`, the others in `made_by`.

export interface Made {
  apiKeys: { id: string; name: string; user_id: string; made_by: string | null }[]
  tokens: { token_id: string; name: string | null; sub: string | null; expires_at: string; revoked_at: string | null }[]
  partners: { id: string; name: string; made_by: string | null }[]
  invitations: { id: string; email: string; invited_by: string }[]
  grants: { id: string; user_id: string; client_name: string }[]
}

/** `ids`: keys, or a person whose keys are among `all`. What has ended already does not end again. */
export function endsWith(all: Made, { ids, now }: { ids: readonly string[]; now: number }): Made {
  const makers = new Set(ids)
  for (;;) {
    const more = all.apiKeys.filter(
      ({ id, user_id, made_by }) =>
        !makers.has(id) && (makers.has(user_id) || (made_by !== null && makers.has(made_by))),
    )
    if (more.length === 0) break
    for (const { id } of more) makers.add(id)
  }
  return {
    apiKeys: all.apiKeys.filter(({ id }) => makers.has(id) && !ids.includes(id)),
    tokens: all.tokens.filter(
      ({ sub, revoked_at, expires_at }) =>
        sub !== null && makers.has(sub) && revoked_at === null && Date.parse(expires_at) > now,
    ),
    partners: all.partners.filter(({ made_by }) => made_by !== null && makers.has(made_by)),
    invitations: all.invitations.filter(({ invited_by }) => makers.has(invited_by)),
    grants: all.grants.filter(({ user_id }) => makers.has(user_id)),
  }
}

/** `2 API keys, 3 tokens and 1 partner credential`; undefined where nothing ends. */
export function sentenceOf(made: Made): string | undefined {
  const parts = [
    counted(made.apiKeys.length, 'API key'),
    counted(made.tokens.length, 'token'),
    counted(made.partners.length, 'partner credential'),
    counted(made.invitations.length, 'open invitation'),
    counted(made.grants.length, 'client that was allowed', 'clients that were allowed'),
  ].filter((part) => part !== undefined)
  const last = parts.at(-1)
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(', ')} and ${last}`
}

function counted(number: number, one: string, many = `${one}s`): string | undefined {
  return number === 0 ? undefined : `${number} ${number === 1 ? one : many}`
}
