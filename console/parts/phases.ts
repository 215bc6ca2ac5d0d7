// The phases of a cycle as bars: each by its own colour, on one scale for all cycles of a list.

export interface Phase {
  name: string
  startMs: number
  durationMs: number
}

export interface PhaseStretch {
  name: string
  color: string
  /** Of the scale. */
  from: number
  width: number
}

const COLORS: Readonly<Record<string, string>> = {
  perceive: 'var(--part-around)',
  cue: 'var(--part-held)',
  recall: 'var(--part-words)',
  compete: 'var(--part-strength)',
  broadcast: 'var(--part-due)',
  learn: 'var(--dec-in)',
}

export const PHASES: readonly string[] = Object.keys(COLORS)

/** One that a newer server has is there too, in the colour of what has no other. */
export function phaseColor(name: string): string {
  return COLORS[name] ?? 'var(--ink-3)'
}

export function phaseStretches(phases: readonly Phase[], scaleMs: number): PhaseStretch[] {
  const scale = scaleMs > 0 ? scaleMs : 1
  return phases.map(({ name, startMs, durationMs }) => {
    const from = Math.min(1, startMs / scale)
    return { name, color: phaseColor(name), from, width: Math.min(1 - from, durationMs / scale) }
  })
}

/** When the last phase ended; what a cycle took beside its phases is its commit. */
export function phasesEnd(phases: readonly Phase[]): number {
  return Math.max(0, ...phases.map(({ startMs, durationMs }) => startMs + durationMs))
}
