/** The known word that was probably meant: at most a third of its letters are wrong, missing, too many or swapped. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((one) => ({ one, distance: one.startsWith(word) && word.length >= 2 ? 0 : distanceOf(word, one) }))
    .filter(({ one, distance }) => distance <= Math.max(1, Math.floor(Math.max(one.length, word.length) / 3)))
    .sort((a, b) => a.distance - b.distance)
  return ranked[0]?.one
}

function distanceOf(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const before = rows[i - 1] as number[]
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min((before[j] as number) + 1, (row[j - 1] as number) + 1, (before[j - 1] as number) + cost)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwapped) least = Math.min(least, (rows[i - 2]?.[j - 2] as number) + 1)
      row.push(least)
    }
    rows.push(row)
  }
  return rows[a.length]?.[b.length] as number
}
