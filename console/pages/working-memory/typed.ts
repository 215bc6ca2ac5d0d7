// What somebody types for a slot: words as they are, or any other JSON value as JSON.

export interface Typed {
  text: string
  isJson: boolean
}

export function typedOf(value: unknown): Typed {
  return typeof value === 'string'
    ? { text: value, isJson: false }
    : { text: JSON.stringify(value, null, 2), isJson: true }
}

export function readValue({ text, isJson }: Typed): { value: unknown } | { problem: string } {
  if (!isJson) return text.trim() === '' ? { problem: 'Nothing is typed.' } : { value: text }
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { problem: `It is not JSON: ${(error as Error).message}.` }
  }
}
