// How likely a text is to be asked for, by its surface: the first person, names, times and numbers count for it;
// questions and a mere "you" against it. English patterns; another language scores by names and digits alone.

const FIRST_PERSON = /\b(I|I'm|I've|me|my|mine|we|our|us)\b/
const ONLY_YOU = /\b(you|your|yours)\b/i
const QUESTION = /\?\s*$/
const NAME = /(?<=[\p{L}\p{N},;:'’)] )\p{Lu}\p{Ll}+/gu
const TIME = new RegExp(
  String.raw`\b(yesterday|today|tomorrow|tonight|ago|since|recently|(last|next|this) ` +
    '(night|week|weekend|month|year|morning|afternoon|evening|spring|summer|autumn|fall|winter)|' +
    '(mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|' +
    String.raw`october|november|december|(hour|day|week|month|year)s?)\b`,
  'i',
)
const DIGITS_MAX = 3
/** Beyond this the surface says nothing more, and a write must not pay for reading it. */
const READ_MAX = 4_096

export function surfaceOf(value: unknown): number {
  const text = wordsOf(value).slice(0, READ_MAX)
  const isFirstPerson = FIRST_PERSON.test(text)
  const names = text.match(NAME)?.length ?? 0
  const digits = Math.min(text.match(/\p{Nd}/gu)?.length ?? 0, DIGITS_MAX) / DIGITS_MAX
  const kept = Number(isFirstPerson) + Math.log1p(names) + Number(TIME.test(text)) + digits
  const passing = Number(QUESTION.test(text)) + Number(ONLY_YOU.test(text) && !isFirstPerson)
  return 0.5 * (kept - passing)
}

/** The strings and numbers in a value, without the names of its members: they are structure, not what was said. */
function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value)
  if (Array.isArray(value)) return value.map(wordsOf).filter(Boolean).join(' ')
  if (typeof value === 'object' && value !== null) return wordsOf(Object.values(value))
  return ''
}
