// What a request costs its caller, where the rate of the caller counts work: 1 when it is let in, and afterwards what
// it was measured to use of this process and of PostgreSQL (libs/meter). The debt is paid before the next is let in.
//
//   ahead    what the last requests of this caller to this route cost is taken when the body is there, so that many at
//            once do not all come in before the first of them is paid for; of a large body what a byte of such bodies
//            cost on this route, whoever sent them, and before it is read
//   settled  between the parts of long work, when the answer is written, and once more when it is out
//
// Never: a request refused for what it was charged itself, or charged for what fell on it by chance (a collection of
// everybody's garbage, the compiler while the route is new to this process).

import { catchUp, Work } from '@loci/meter/meter.ts'
import { type Cache, createCache } from './cache.ts'
import type { Access, Route } from './route.ts'

/** Processor time that one unit stands for. */
export const UNIT_US = 1_500
/** Below it a request pays for its 1 alone: what small ones use depends on what else the process did just then. */
const SMALL_UNITS = 3
/** So many requests of each route are cheaper by so much: the first ones of a process meet the compiler. */
const COLD_RUNS = 20
const COLD_US = 20_000
/** Of a body: from here on its length says what it will cost. */
export const LARGE_BODY_BYTES = 64 * 1024
/** Callers whose last cost is remembered, of each route: those of dear requests alone. */
const CALLERS_MAX = 2_000

/** What one route of this process has cost so far. */
export interface RouteCost {
  runs: number
  /** By caller, in units: the mean of the last ones, each half as heavy as the one after it. */
  last: Cache<number> | undefined
  /** A byte of a large body, in units, whoever sent it: a mean as above. */
  perByte: number
}

export function createRouteCosts(): (route: Route) => RouteCost {
  const costs = new Map<Route, RouteCost>()
  return (route) => {
    const known = costs.get(route) ?? { runs: 0, last: undefined, perByte: 0 }
    costs.set(route, known)
    return known
  }
}

/** A class because there is one per request. */
export class Bill {
  readonly work = new Work()
  readonly #access: Access<unknown> | undefined
  readonly #costs: RouteCost | undefined
  readonly #isStream: boolean
  readonly #name: string
  #caller: unknown = undefined
  #taken = 0
  #ahead = 0
  #bodyBytes = 0
  #charged = 0
  #isCold = false

  constructor(route: Route | undefined, costsOf: (route: Route) => RouteCost) {
    this.#access = route?.spec.access
    this.#isStream = route?.spec.deadline === 'stream'
    this.#name = route ? `${route.spec.method} ${route.spec.path}` : ''
    this.#costs = route && this.#access?.charge ? costsOf(route) : undefined
  }

  /** Access has let it in, and taken its 1, or what the route is known to cost. */
  open(caller: unknown): void {
    if (!this.#costs) return
    this.#caller = caller
    this.#taken = this.#access?.cost ?? 1
    this.#charged = this.#taken
    this.#costs.runs += 1
    this.#isCold = this.#costs.runs <= COLD_RUNS
    this.work.account = this.#account
    this.work.share = this.#access?.shareOf?.(caller)
    this.work.payer = this
    if (this.#isStream) this.#note(this.#taken)
  }

  get #isOpen(): boolean {
    return this.#charged > 0
  }

  /** `bodyBytes`: of its body, as far as that is known. */
  takeAhead(bodyBytes: number): void {
    if (!this.#isOpen || !this.#costs) return
    this.#bodyBytes = bodyBytes > LARGE_BODY_BYTES ? bodyBytes : 0
    const last = this.#costs.last?.find(this.#account) ?? 0
    const ofBody = this.#bodyBytes * this.#costs.perByte
    if (last === 0 && ofBody === 0) return
    const burst = this.#access?.burstOf?.(this.#caller) ?? Number.POSITIVE_INFINITY
    // Not all that there is: that the last one was dear is no reason to refuse the small ones beside this one.
    const ahead = Math.max(Math.min(last, burst / 2), Math.min(ofBody, burst)) - this.#charged
    if (ahead <= 0) return
    this.#ahead += ahead
    this.#charge(ahead)
  }

  /** Access of a call inside of it has taken so much of the same rate, which is part of what was taken ahead. */
  noteTaken(units: number): void {
    if (!this.#isOpen) return
    this.#taken += units
    this.#charged += units
    const twice = Math.min(units, this.#ahead)
    if (twice <= 0) return
    this.#ahead -= twice
    this.#charge(-twice)
  }

  /** Throws RATE_LIMITED when what the caller's other requests have cost is beyond its burst. */
  requireRoom(): void {
    if (this.#isOpen) this.#access?.charge?.(this.#caller, 0, false, this.#charged - 1)
  }

  /** While it goes on: charges what was used beyond what was charged. What was taken ahead stays taken. */
  settle(): void {
    if (!this.#isOpen) return
    catchUp()
    const due = this.#units - this.#charged
    if (due > 0) this.#charge(due)
  }

  /** Settles, and throws RATE_LIMITED when the caller is in debt: this very request counts too. */
  goOn(): void {
    this.settle()
    if (this.#isOpen) this.#access?.charge?.(this.#caller, 0, false)
  }

  /** Its work has ended. `isDone`: as it was meant to, so that it says what the next one will cost. */
  conclude(isDone: boolean): void {
    if (!this.#isOpen || !this.#costs) return
    this.#settleAll()
    this.#learnPerByte(isDone)
    if (!isDone || this.#isStream) return
    const { last } = this.#costs
    const known = last?.find(this.#account)
    const mean = known === undefined ? this.#charged : (known + this.#charged) / 2
    if (mean >= SMALL_UNITS) {
      this.#costs.last ??= createCache(CALLERS_MAX)
      this.#costs.last.keep(this.#account, mean)
    } else if (known !== undefined) last?.drop(this.#account)
  }

  /** Of those that failed the dearer ones alone: bodies that are made to fail early would teach that all are cheap. */
  #learnPerByte(isDone: boolean): void {
    if (!this.#costs || this.#bodyBytes === 0) return
    const { perByte } = this.#costs
    const own = this.#charged / this.#bodyBytes
    if (isDone || own > perByte) this.#costs.perByte = perByte === 0 ? own : (perByte + own) / 2
  }

  /** The answer is out. */
  end(): void {
    if (!this.#isOpen) return
    this.#settleAll()
    if (!this.#isStream) this.#note(this.#charged)
    this.work.hasEnded = true
  }

  /** What it costs so far, and what is left of the rate; nothing where its caller has no rate that counts work. */
  writeHeaders(head: Record<string, unknown>): void {
    if (!this.#isOpen) return
    catchUp()
    head['x-loci-cost'] = this.#units.toFixed(1)
    const left = this.#access?.rateHeadersOf?.(this.#caller)
    if (left) Object.assign(head, left)
  }

  /** Where it goes on, it is settled later. */
  takeLess(): void {
    if (this.work.hasEnded) this.#settleAll()
  }

  #settleAll(): void {
    const due = this.#units - this.#charged
    if (due !== 0) this.#charge(due)
  }

  get #units(): number {
    const measured = (this.work.totalUs - (this.#isCold ? COLD_US : 0)) / UNIT_US
    return Math.max(this.#taken, measured >= SMALL_UNITS ? measured : 0)
  }

  #note(units: number): void {
    this.#access?.noteCost?.(this.#caller, this.#name, units)
  }

  get #account(): string {
    return this.#access?.accountOf?.(this.#caller) ?? ''
  }

  #charge(units: number): void {
    this.#charged += units
    // A stream may last for hours: its owner sees what it cost when it did.
    if (this.#isStream) this.#note(units)
    this.#access?.charge?.(this.#caller, units, true)
  }
}
