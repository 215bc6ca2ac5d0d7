// Lists that come in pages: `for await` over all of them, or one page at a time.

export interface Page<Item> {
  items: Item[]
  /** What to hand to page() for the next one; undefined after the last. */
  next: string | undefined
}

export interface Paged<Item> extends AsyncIterable<Item> {
  /** One page: the first, or the one after `next`. */
  page(next?: string): Promise<Page<Item>>
  /** All of it in one array, at most `max` items. */
  all(max?: number): Promise<Item[]>
}

export function paged<Item>(read: (next: string | undefined) => Promise<Page<Item>>): Paged<Item> {
  async function* each(): AsyncGenerator<Item, void, undefined> {
    let next: string | undefined
    do {
      const page = await read(next)
      yield* page.items
      next = page.next
    } while (next !== undefined)
  }
  return {
    [Symbol.asyncIterator]: each,
    page: (next) => read(next),
    async all(max = Number.POSITIVE_INFINITY) {
      const items: Item[] = []
      if (max < 1) return items
      for await (const item of each()) {
        items.push(item)
        if (items.length >= max) break
      }
      return items
    },
  }
}
