// What a few letters mean in the palette.

/** Each word that was typed begins a word of the text. */
export function fits(text: string, typed: string): boolean {
  const words = text.toLowerCase().split(/[\s_-]+/)
  return typed
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .every((part) => words.some((word) => word.startsWith(part)) || text.toLowerCase().includes(part))
}

/** Anything of ours has a prefix that says what it is. */
export function isId(text: string): boolean {
  return /^\s*[a-z]{2,4}_[0-9a-z]{20,40}\s*$/.test(text)
}
