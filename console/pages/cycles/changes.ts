// What a cycle decided, by numbers: who came and left, and the rest in words.

interface Decisions {
  admitted: number
  kept: number
  merged: number
  reinforced: number
  stored: number
  evicted: number
  consolidated: number
  rejected: number
}

export function changesIn(decisions: Decisions): { came: number; left: number; rest: string[] } {
  const { admitted, kept, merged, reinforced, stored, evicted, consolidated, rejected } = decisions
  const rest = [
    [kept, kept === 1 ? 'stays' : 'stay'],
    [merged, 'merged'],
    [reinforced, 'said again'],
    [stored, 'only stored'],
    [consolidated, consolidated === 1 ? 'became a memory' : 'became memories'],
    [rejected, 'refused'],
  ] as const
  return {
    came: admitted,
    left: evicted,
    rest: rest.flatMap(([many, word]) => (many > 0 ? [`${many} ${word}`] : [])),
  }
}
