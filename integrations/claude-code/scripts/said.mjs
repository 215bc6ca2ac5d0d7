// What the person said, out of a line of a transcript: not what tools, commands, schedules, hooks or Claude said.

/** "Yes" and "go on" say nothing without what they answer: 16 bytes, about three words, or five of Chinese. */
const BYTES_MIN = 16
/** Beyond that it is something pasted: its beginning says what it is about. */
const CHARACTERS_MAX = 2_000
const PEOPLE = new Set([undefined, 'typed', 'queued', 'suggestion_accepted', 'sdk'])
/** Whole blocks that were put in beside what somebody typed; ours first: what was recalled is never stored again. */
const PUT_IN =
  /<(loci-memory|system-reminder|ide_\w+|local-command-[a-z]+|command-[a-z]+|bash-[a-z]+|task-notification)\b[^>]*>[\s\S]*?(?:<\/\1>|$)/g
const SECRETS = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /\b(?:sk-[\w-]{16,}|loci_(?:sk|adm|cap)_[\w-]{8,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})/,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bxox[abprs]-[\w-]{10,}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\./,
  /\b\w+:\/\/[^\s:@/]+:[^\s:@/]+@/,
  /\b(?:password|passwd|passphrase|secret|api[_-]?key|token)\b\s*(?:(?:is\s*)?[:=]\s*\S{6,}|is\s+(?=\S*\d)\S{6,})/i,
]

export function isSentence(text) {
  return typeof text === 'string' && Buffer.byteLength(text.trim()) >= BYTES_MIN && !/^\s*[/!#]\S/.test(text)
}

/** The record of what a line says; undefined where nobody said anything in it that is worth keeping. */
export function saidIn(line) {
  if (!/"type":\s*"user"/.test(line)) return undefined
  let entry
  try {
    entry = JSON.parse(line)
  } catch {
    return undefined // A session that was killed may have left half a line.
  }
  const { type, uuid, message, isMeta, isSidechain, isCompactSummary, toolUseResult, promptSource, origin } =
    entry ?? {}
  if (type !== 'user' || message?.role !== 'user' || typeof uuid !== 'string') return undefined
  const isOthers = isMeta || isSidechain || isCompactSummary || toolUseResult !== undefined
  if (isOthers || !PEOPLE.has(promptSource) || (origin !== undefined && origin?.kind !== 'human')) return undefined
  const text = textOf(message.content).replaceAll(PUT_IN, '').trim()
  if (!isSentence(text) || /^\[Request interrupted/.test(text) || SECRETS.some((secret) => secret.test(text)))
    return undefined
  const characters = [...text]
  const content = characters.slice(0, CHARACTERS_MAX).join('')
  return {
    content: characters.length > CHARACTERS_MAX ? `${content} …` : content,
    kind: /[?？؟]$/.test(text) ? 'question' : 'message',
    actor: 'user',
    contextId: entry.sessionId,
    ...(Number.isNaN(Date.parse(entry.timestamp)) ? {} : { occurredAt: new Date(entry.timestamp).toISOString() }),
    tags: ['claude-code'],
    // A session that was forked or resumed has the same lines under the same ids.
    sourceEventId: `claude-code:${uuid}`,
  }
}

function textOf(content) {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  // A result of a tool stands in a message of the user's role, and is not of the person.
  if (content.some((part) => part?.type === 'tool_result')) return ''
  return content
    .flatMap((part) => (part?.type === 'text' && typeof part.text === 'string' ? [part.text] : []))
    .join('\n')
}
