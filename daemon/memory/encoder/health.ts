import type { Encoder } from './encoder.ts'

interface Check {
  status: string
  detail?: string
}

/** Nothing where no encoder is wanted. One that cannot be used impairs nothing: recall goes by words. */
export function encoderCheck(encoder: Encoder): Record<string, () => Check> {
  if (!encoder.isWanted) return {}
  return {
    encoder() {
      const { facts, problem } = encoder
      if (facts) return { status: 'running', detail: `${facts.name}, sha256 ${facts.digest}` }
      return problem === undefined ? { status: 'starting' } : { status: 'off', detail: problem }
    },
  }
}
