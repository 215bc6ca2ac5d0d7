// Numbers out of texts, the same on every replica.

/** FNV-1a over UTF-16 units, 32 bits; `from`: the hash of what stands before the text. */
export function hashText(text: string, from = 2_166_136_261): number {
  let hash = from
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619)
  return hash >>> 0
}
