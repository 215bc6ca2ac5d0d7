// The same bars on a canvas, for windows with more of them than a document should have.

import { useLayoutEffect, useRef } from 'react'
import { leftOf } from '../../parts/decided.ts'
import { type Bar, type Frame, hasWords, topOf, WORDS_MIN } from './drawn.ts'

interface CanvasProps {
  bars: readonly Bar[]
  frame: Frame
}

export function BarsOnCanvas({ bars, frame }: CanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useLayoutEffect(() => {
    const element = canvas.current
    if (!element) return
    const paint = () => paintBars(element, bars, frame)
    paint()
    // Its colours are those of the scheme, which the system may change.
    const watch = new MutationObserver(paint)
    watch.observe(document.documentElement, { attributeFilter: ['data-scheme'] })
    return () => watch.disconnect()
  }, [bars, frame])
  return <canvas ref={canvas} className="bars" />
}

function paintBars(element: HTMLCanvasElement, bars: readonly Bar[], frame: Frame): void {
  const context = element.getContext('2d')
  if (!context) return
  const ratio = devicePixelRatio
  element.width = Math.round(frame.width * ratio)
  element.height = Math.round(frame.height * ratio)
  element.style.width = `${frame.width}px`
  element.style.height = `${frame.height}px`
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  const style = getComputedStyle(element)
  const color = (name: string) => style.getPropertyValue(name).trim()
  paintBacks(context, bars, frame, color)
  paintLight(context, bars, frame, color)
  if (hasWords(frame)) paintWords(context, bars, frame, color)
  paintEnds(context, bars, frame, color)
}

type Color = (name: string) => string

function paintBacks(context: CanvasRenderingContext2D, bars: readonly Bar[], frame: Frame, color: Color): void {
  context.fillStyle = color('--bg')
  context.strokeStyle = color('--line')
  context.beginPath()
  for (const { row, x, width } of bars)
    context.rect(x + 0.5, topOf(frame, row) + 0.5, Math.max(0.5, width - 1), frame.high - 1)
  context.fill()
  context.stroke()
}

/** By lamp, so that the colour changes six times and not for each step. */
function paintLight(context: CanvasRenderingContext2D, bars: readonly Bar[], frame: Frame, color: Color): void {
  for (let lamp = 0; lamp <= 5; lamp += 1) {
    context.fillStyle = color(`--lamp-${lamp}`)
    for (const part of ['glow', 'edge'] as const) {
      context.globalAlpha = part === 'glow' ? 0.6 : 1
      context.beginPath()
      for (const { row, light } of bars) {
        const bottom = topOf(frame, row) + frame.high
        for (const step of light)
          if (step.lamp === lamp)
            context.rect(step.x, bottom - step.height, step.width, part === 'glow' ? step.height : 1.5)
      }
      context.fill()
    }
  }
  context.globalAlpha = 1
}

function paintWords(context: CanvasRenderingContext2D, bars: readonly Bar[], frame: Frame, color: Color): void {
  context.font = `400 12.5px ${color('--font-mind')}`
  context.textBaseline = 'alphabetic'
  for (const { stay, row, x, width } of bars) {
    if (width < WORDS_MIN || stay.text === undefined) continue
    const mark = stay.pinned ? '◆ ' : stay.came?.by === 'recalled' ? '↑ ' : ''
    context.fillStyle = color(mark === '↑ ' ? '--dec-in' : '--ink-3')
    context.fillText(mark, x + 5, topOf(frame, row) + 14)
    const indent = mark === '' ? 0 : context.measureText(mark).width
    context.fillStyle = color('--ink-2')
    context.fillText(fitting(context, stay.text, width - 16 - indent), x + 5 + indent, topOf(frame, row) + 14)
  }
}

/** As much of it as has room, on one line. */
function fitting(context: CanvasRenderingContext2D, text: string, room: number): string {
  const line = text.slice(0, 200).replace(/\s+/g, ' ')
  if (context.measureText(line).width <= room) return line
  let low = 0
  let high = line.length
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (context.measureText(`${line.slice(0, middle)}…`).width <= room) low = middle
    else high = middle - 1
  }
  return low === 0 ? '' : `${line.slice(0, low).toWellFormed()}…`
}

function paintEnds(context: CanvasRenderingContext2D, bars: readonly Bar[], frame: Frame, color: Color): void {
  context.font = `600 9.5px ${color('--font-ui')}`
  context.textAlign = 'center'
  for (const { stay, row, x, width, isEnded } of bars) {
    if (!isEnded || !stay.left || width < WORDS_MIN) continue
    const [at, top] = [x + width, topOf(frame, row) + 9]
    context.beginPath()
    context.arc(at, top, 6.5, 0, 2 * Math.PI)
    context.fillStyle = color('--surface')
    context.strokeStyle = color('--dec-out')
    context.fill()
    context.stroke()
    context.fillStyle = color('--dec-out')
    context.fillText(leftOf(stay.left.reasonCode).mark, at, top + 3.5)
  }
  context.textAlign = 'start'
}
