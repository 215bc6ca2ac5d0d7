// Which terms are near which: pairs of vectors with a high cosine, kept where one of the two has few nearer ones.

export type Near = { term: number; cosine: number }

/** 16,000 terms found all that 24,000 did on every question they were measured with, in a quarter of the bytes. */
export const TERMS_MAX = 16_000
const COSINE_MIN = 0.345
const NEAREST = 24
/** A term's count of near ones is a byte. */
const NEAR_MAX = 255

/** For each of the first `count` rows, the near ones by falling cosine. Cosines are bytes, 255 for 1. */
export function nearTerms(vectors: Float32Array, width: number, count: number): Near[][] {
  const near: Near[][] = Array.from({ length: count }, () => [])
  for (let a = 0; a < count; a++) {
    for (let b = a + 1; b < count; b++) {
      const cosine = dot(vectors, a * width, b * width, width)
      if (cosine < COSINE_MIN) continue
      near[a]?.push({ term: b, cosine })
      near[b]?.push({ term: a, cosine })
    }
  }
  // A pair stays if it is among the nearest of either: "animal" has more near ones than it may keep, each knows it.
  const kept: Map<number, number>[] = near.map(() => new Map())
  for (const [a, list] of near.entries()) {
    for (const { term, cosine } of list.sort(byCosine).slice(0, NEAREST)) {
      kept[a]?.set(term, cosine)
      kept[term]?.set(a, cosine)
    }
  }
  return kept.map((own) =>
    [...own]
      .map(([term, cosine]) => ({ term, cosine: Math.round(Math.min(1, cosine) * 255) }))
      .sort(byCosine)
      .slice(0, NEAR_MAX),
  )
}

function byCosine(a: Near, b: Near): number {
  return b.cosine - a.cosine || a.term - b.term
}

// Four sums: as fast as the machine can multiply, and the same order of additions on every machine.
function dot(vectors: Float32Array, a: number, b: number, width: number): number {
  let [s0, s1, s2, s3] = [0, 0, 0, 0]
  for (let h = 0; h < width; h += 4) {
    s0 += (vectors[a + h] as number) * (vectors[b + h] as number)
    s1 += (vectors[a + h + 1] as number) * (vectors[b + h + 1] as number)
    s2 += (vectors[a + h + 2] as number) * (vectors[b + h + 2] as number)
    s3 += (vectors[a + h + 3] as number) * (vectors[b + h + 3] as number)
  }
  return s0 + s1 + s2 + s3
}
