// Draws from Beta distributions, and their spread. The generator is seeded by the request, so the same request gets the
// same draw on every replica.

/** Uniform in [0, 1): mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export function drawBeta(a: number, b: number, random: () => number): number {
  const x = drawGamma(a, random)
  return x / (x + drawGamma(b, random))
}

/** Marsaglia and Tsang, 2000. */
function drawGamma(shape: number, random: () => number): number {
  if (shape < 1) return drawGamma(shape + 1, random) * (1 - random()) ** (1 / shape)
  const d = shape - 1 / 3
  const c = 1 / Math.sqrt(9 * d)
  for (;;) {
    const x = drawNormal(random)
    const v = (1 + c * x) ** 3
    if (v > 0 && Math.log(1 - random()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v
  }
}

function drawNormal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

/** Where 95 % of Beta(a, b) lie, its log odds taken as normal: their mean and variance are exact. */
export function spreadOf(a: number, b: number): { lower95: number; upper95: number } {
  const mean = digamma(a) - digamma(b)
  const width = 1.96 * Math.sqrt(trigamma(a) + trigamma(b))
  return { lower95: logistic(mean - width), upper95: logistic(mean + width) }
}

function logistic(odds: number): number {
  return 1 / (1 + Math.exp(-odds))
}

function digamma(x: number): number {
  let sum = 0
  let at = x
  for (; at < 6; at++) sum -= 1 / at
  const square = 1 / (at * at)
  return sum + Math.log(at) - 0.5 / at - square * (1 / 12 - square * (1 / 120 - square / 252))
}

function trigamma(x: number): number {
  let sum = 0
  let at = x
  for (; at < 6; at++) sum += 1 / (at * at)
  const square = 1 / (at * at)
  return sum + 1 / at + square / 2 + (square / at) * (1 / 6 - square * (1 / 30 - square / 42))
}
