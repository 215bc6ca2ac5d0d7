// A list that comes in pages, whole. Lists of an organization are short; one that is longer than this is cut, and the
// page that shows it says so by `isCut`.

export interface Whole<Item> {
  items: Item[]
  isCut: boolean
}

const ITEMS_MAX = 2_000

export async function everyPage<Item>(
  read: (cursor: string | undefined) => Promise<{ items: Item[]; next: string | null }>,
): Promise<Whole<Item>> {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    const page = await read(cursor)
    items.push(...page.items)
    cursor = page.next ?? undefined
  } while (cursor !== undefined && items.length < ITEMS_MAX)
  return { items, isCut: cursor !== undefined }
}
