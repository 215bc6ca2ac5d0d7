// What is drawn of a timeline in a window: bars with their light, cycles by the pixel, and how high all of it is. The
// same for the picture in SVG and the one on a canvas.

import { FULL, lampOf } from '../../parts/lamp.ts'
import { lastBy } from './moment.ts'
import { placeOf, type Span } from './scale.ts'
import type { CycleAt, Mind, Stay } from './timeline.ts'

/** Above the places: the focus, and what came and left. */
export const FOCUS_HEIGHT = 22
export const CAME_BASE = 54
export const LEFT_BASE = 58
const CHANGE_HEIGHT = 20
const PLACES_TOP = 90
const PITCH = 39
const LOW_PITCH = 18
/** More places than these are low, and without words. */
const HIGH_MAX = 40
/** A place in which nothing was, in all that is read. */
const FREE_PITCH = 9
const LIGHT_MIN = 2
const LIGHT_MAX = 13
/** A bar of less has no words. */
export const WORDS_MIN = 26
export const SVG_BARS_MAX = 600
/** Two cycles that are closer are drawn as one. */
const CYCLE_APART = 3

export interface Frame {
  width: number
  height: number
  pitch: number
  /** Of a bar. */
  high: number
  /** Places with something, and all of them. */
  used: number
  places: number
  heardTop: number
  axisTop: number
}

export function frameOf(rows: readonly (readonly unknown[])[], width: number): Frame {
  const used = Math.max(1, rows.findLastIndex((row) => row.length > 0) + 1)
  const pitch = used > HIGH_MAX ? LOW_PITCH : PITCH
  const free = rows.length - used
  const heardTop = PLACES_TOP + used * pitch + free * FREE_PITCH + 2
  return {
    ...{ width, pitch, used, places: rows.length, heardTop, axisTop: heardTop + 16 },
    ...{ high: pitch === LOW_PITCH ? pitch - 3 : pitch - 5, height: heardTop + 16 + 27 },
  }
}

/** Of a place, also of one that is free. */
export function topOf({ pitch, used }: Frame, row: number): number {
  return PLACES_TOP + Math.min(row, used) * pitch + Math.max(0, row - used) * FREE_PITCH
}

export function hasWords({ pitch }: Frame): boolean {
  return pitch !== LOW_PITCH
}

/** How high the light of an activation is: linear, full at 9 everywhere, so that two hours compare. */
export function lightHeight(activation: number): number {
  return LIGHT_MIN + (LIGHT_MAX - LIGHT_MIN) * Math.max(0, Math.min(1, activation / FULL))
}

export interface Light {
  x: number
  width: number
  height: number
  lamp: number
}

export interface Bar {
  stay: Stay
  row: number
  x: number
  width: number
  light: Light[]
  /** Its end is in the window. */
  isEnded: boolean
}

/** `end`: until when what goes on is known. Between two that touch there is a gap of this many pixels. */
const GAP = 3

export function barsIn(rows: readonly (readonly Stay[])[], window: Span, width: number, end: number): Bar[] {
  return rows.flatMap((stays, row) => {
    const first = lastBy(stays, window.from, ({ from }) => from)
    const bars: Bar[] = []
    for (let at = first ? stays.indexOf(first) : 0; at < stays.length; at += 1) {
      const stay = stays[at] as Stay
      if (stay.from >= window.to) break
      const bar = barOf(stay, row, window, width, end)
      if (bar) bars.push(bar)
    }
    return bars
  })
}

export function barOf(stay: Stay, row: number, window: Span, width: number, end: number): Bar | undefined {
  const place = placeOf(window, width)
  const to = stay.to ?? Math.max(end, stay.from)
  if (to < window.from || stay.from >= window.to) return undefined
  const x = Math.max(0, place(stay.from))
  const right = Math.min(width, place(to))
  const isEnded = stay.left !== null && to <= window.to
  const wide = Math.max(1.5, right - x - (isEnded && right - x > 2 * GAP ? GAP : 0))
  const light: Light[] = []
  for (const [index, { at, score }] of stay.light.entries()) {
    const from = Math.max(x, index === 0 ? x : place(at))
    const until = Math.min(x + wide, place(stay.light[index + 1]?.at ?? to))
    if (until - from > 0.05 || stay.light.length === 1)
      light.push({ x: from, width: Math.max(0.5, until - from), height: lightHeight(score), lamp: lampOf(score) })
  }
  return { stay, row, x, width: wide, light, isEnded }
}

export interface Tick {
  x: number
  /** The cycles that are drawn here: one, or those of a few pixels. */
  seqs: number[]
  /** Of 1: how much came and left, by the most of them. */
  came: number
  left: number
  heard: number
}

export function cyclesIn({ cycles, heard, capacity }: Mind, window: Span, width: number): Tick[] {
  const place = placeOf(window, width)
  const full = Math.max(5, capacity / 2.4)
  const ticks: Tick[] = []
  for (const { at, seq, counts } of cycles) {
    if (at < window.from || at >= window.to) continue
    const x = place(at)
    const before = ticks.at(-1)
    const own = {
      came: Math.min(1, counts.admitted / full),
      left: Math.min(1, counts.evicted / full),
      heard: heard.get(seq) ?? 0,
    }
    if (before && x - before.x < CYCLE_APART) {
      before.seqs.push(seq)
      before.came = Math.max(before.came, own.came)
      before.left = Math.max(before.left, own.left)
      before.heard += own.heard
    } else ticks.push({ x, seqs: [seq], ...own })
  }
  return ticks
}

export function changeHeight(share: number): number {
  return share === 0 ? 0 : Math.max(2, share * CHANGE_HEIGHT)
}

export interface Bin {
  /** Of 1. */
  cycles: number
  count: number
  lamp: number
}

/** A day in so many steps: how many cycles ran, and how strongly was held what they held. */
export function binsOf({ cycles, stays }: Pick<Mind, 'cycles' | 'stays'>, { from, to }: Span, steps: number): Bin[] {
  const bins = Array.from({ length: steps }, () => ({ count: 0, sum: 0, scores: 0 }))
  const at = (time: number) => bins[Math.floor(((time - from) / (to - from)) * steps)]
  for (const cycle of cycles) {
    const bin = at(cycle.at)
    if (bin) bin.count += 1
  }
  for (const { light } of stays)
    for (const { at: time, score } of light) {
      const bin = at(time)
      if (!bin) continue
      bin.sum += score
      bin.scores += 1
    }
  const most = Math.max(1, ...bins.map(({ count }) => count))
  return bins.map(({ count, sum, scores }) => ({
    ...{ cycles: count / most, count },
    lamp: lampOf(scores === 0 ? 0 : sum / scores),
  }))
}

/** Where all cycles of the window ran within a small part of it: that part. */
export function burstIn(cycles: readonly CycleAt[], window: Span): { from: number; to: number; count: number } | null {
  const ran = cycles.filter(({ at }) => at >= window.from && at < window.to)
  const [first, last] = [ran[0], ran.at(-1)]
  if (!first || !last || ran.length < 5 || last.at - first.at > (window.to - window.from) / 30) return null
  return { from: first.at, to: last.at, count: ran.length }
}
