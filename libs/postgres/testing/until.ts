/** Looks until it is so. The bound is a guard against waiting for ever, not a promise. */
export async function until(look: () => boolean | Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + 60_000
  while (!(await look())) {
    if (performance.now() > endsAt) throw new Error(`not within a minute: ${look}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
