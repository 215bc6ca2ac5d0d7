// Light is activation and nothing else: six steps, fixed, so that two pages and two hours compare.

/** Where a light is full, everywhere: only so do two of them compare. */
export const FULL = 9
const STEPS = [0.6, 2, 3.5, 5, 7] as const

/** 0 to 5, for `data-lamp` and `--lamp-N`. */
export function lampOf(activation: number): number {
  const at = STEPS.findIndex((below) => activation < below)
  return at < 0 ? STEPS.length : at
}
