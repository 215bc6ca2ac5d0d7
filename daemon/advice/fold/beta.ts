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

/** With so many of both, the log odds of a Beta are as good as normal: their mean and variance are exact. */
const NORMAL_FROM = 10

/**
 * Where the middle 95 % of Beta(a, b) lie. Near b = 0 the log odds of a Beta are nothing like normal: taken as such, a
 * tool that had never failed was between 0 and 1.
 */
export function spreadOf(a: number, b: number): { lower95: number; upper95: number } {
  if (Math.min(a, b) < NORMAL_FROM) return { lower95: quantileOf(a, b, 0.025), upper95: quantileOf(a, b, 0.975) }
  const mean = digamma(a) - digamma(b)
  const width = 1.96 * Math.sqrt(trigamma(a) + trigamma(b))
  return { lower95: logistic(mean - width), upper95: logistic(mean + width) }
}

/** By Newton, and by halves where its step would leave what is known; to less than the six decimals that are told. */
function quantileOf(a: number, b: number, share: number): number {
  const scale = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b))
  let [low, high, x] = [0, 1, a / (a + b)]
  while (high - low > 1e-8) {
    const off = shareBelow(a, b, x, scale) - share
    if (off < 0) low = x
    else high = x
    const step = off / (scale * x ** (a - 1) * (1 - x) ** (b - 1))
    if (Math.abs(step) < 1e-9) break
    x = x - step > low && x - step < high ? x - step : (low + high) / 2
  }
  return x
}

/** The regularized incomplete beta function, by its continued fraction on the side where that converges fast. */
function shareBelow(a: number, b: number, x: number, scale: number): number {
  const front = scale * x ** a * (1 - x) ** b
  return x < (a + 1) / (a + b + 2) ? (front * fractionOf(a, b, x)) / a : 1 - (front * fractionOf(b, a, 1 - x)) / b
}

/** Lentz's method. */
function fractionOf(a: number, b: number, x: number): number {
  let c = 1
  let d = 1 / nonZero(1 - ((a + b) * x) / (a + 1))
  let fraction = d
  for (let m = 1; m < 500; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / nonZero(1 + even * d)
    c = nonZero(1 + even / c)
    fraction *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / nonZero(1 + odd * d)
    c = nonZero(1 + odd / c)
    fraction *= d * c
    if (Math.abs(d * c - 1) < 1e-10) break
  }
  return fraction
}

function nonZero(value: number): number {
  return Math.abs(value) < 1e-30 ? 1e-30 : value
}

/** Stirling's series, from 7 on. */
function logGamma(x: number): number {
  let product = 1
  let at = x
  for (; at < 7; at++) product *= at
  const square = 1 / (at * at)
  const rest = (1 / 12 - square * (1 / 360 - square * (1 / 1_260 - square / 1_680))) / at
  return (at - 0.5) * Math.log(at) - at + Math.log(2 * Math.PI) / 2 + rest - Math.log(product)
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
