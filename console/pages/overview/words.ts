// What a cycle changed, in words.

interface Decisions {
  admitted: number
  merged: number
  reinforced: number
  stored: number
  evicted: number
}

export function changesOf({ admitted, merged, reinforced, stored, evicted }: Decisions, held: number): string {
  const parts = [
    [admitted, 'came'],
    [evicted, 'left'],
    [merged, 'merged'],
    [reinforced, 'said again'],
    [stored, 'only stored'],
  ] as const
  const changes = parts.flatMap(([count, word]) => (count > 0 ? [`${count} ${word}`] : []))
  return [`${held} held`, changes.length > 0 ? changes.join(', ') : 'nothing changed'].join(' · ')
}
