// Who comes first: work under one name is done one at a time, in the order of arrival.

export interface Turns {
  /** Resolves when it is this one's turn, with what ends it; undefined when `until` (performance.now) came first. */
  take(name: string, until: number): Promise<(() => void) | undefined>
}

export function createTurns(): Turns {
  const lines = new Map<string, (() => void)[]>()

  function leave(name: string): void {
    const next = lines.get(name)?.shift()
    if (next) next()
    else lines.delete(name)
  }

  return {
    take(name, until) {
      const line = lines.get(name)
      let isOver = false
      const turn = () => {
        if (!isOver) leave(name)
        isOver = true
      }
      if (!line) {
        lines.set(name, [])
        return Promise.resolve(turn)
      }
      return new Promise((resolve) => {
        const begin = () => {
          clearTimeout(timer)
          resolve(turn)
        }
        const timer = setTimeout(
          () => {
            line.splice(line.indexOf(begin), 1)
            resolve(undefined)
          },
          Math.max(0, until - performance.now()),
        )
        line.push(begin)
      })
    },
  }
}
