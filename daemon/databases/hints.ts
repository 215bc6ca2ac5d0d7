/** What a sender says it is worth: of a sub-agent or a partner half, or it would outrank what the owner keeps. */
export function hintFrom(salience: number | undefined, { trust }: { trust: string }): number {
  return trust === 'holder' ? (salience ?? 0) : (salience ?? 0) / 2
}
