import { stripVTControlCharacters } from 'node:util'

import { expect, test } from 'vitest'

import { cleanText } from './clean-text.ts'
import { formatMoney, formatSeconds } from './format.ts'
import { drawPicture, findPictureProtocol } from './picture.ts'
import { createTaskProgress, describeState } from './task-progress.ts'
import { formatTable } from './text-table.ts'
import { fitText, measureText } from './text-width.ts'

test('texts are measured in columns and cut between characters', () => {
  expect(measureText('ab')).toBe(2)
  expect(measureText('鯨🐋')).toBe(4)
  expect(measureText('e\u0301')).toBe(1)
  expect(fitText('鯨が海を泳ぐ', 7)).toBe('鯨が海…')
  expect(fitText('whale', 5)).toBe('whale')
})

test('texts of others cannot drive the terminal', () => {
  expect(cleanText('a\u001B[31mb\u0007\r\nc\u009Bd')).toBe('a[31mb cd')
})

test('a table fits the width, and its flexible column is cut', () => {
  const rows = [
    { id: 'vidB-2:1', prompt: 'A whale that swims through a calm ocean at sunset 🐋 in all its splendour' },
    { id: 'vidB-2:22', prompt: 'A cat' },
  ]
  const lines = formatTable(
    rows,
    [
      { title: 'id', cell: ({ id }) => id },
      { title: 'prompt', cell: ({ prompt }) => prompt, isFlexible: true },
      { title: 'empty', cell: () => '' },
    ],
    40,
  ).map(stripVTControlCharacters)
  expect(lines).toEqual(['id         prompt', 'vidB-2:1   A whale that swims through a…', 'vidB-2:22  A cat'])
})

test('amounts have their currency, and no zeros after the second decimal', () => {
  expect(formatMoney(1_500_000, 'USD')).toBe('1.50 USD')
  expect(formatMoney(1_234_567_000_000, 'EUR')).toBe('1,234,567.00 EUR')
  expect(formatMoney(6_000, 'USD')).toBe('0.006 USD')
  expect(formatMoney(-1, 'USD')).toBe('−0.000001 USD')
  expect(formatSeconds(75)).toBe('1 min 15 s')
})

const waiting = {
  status: 'pending',
  progress: 0,
  queue_position: { min: 3, max: 12 },
  time_left_seconds: { min: 40, max: 95 },
}

test('the state has the stage, the queue position and the time left', () => {
  expect(describeState(waiting)).toBe('Waiting · 3–12 before it · 40 s–1 min 35 s left')
  expect(describeState({ status: 'in_progress', progress: 42, time_left_seconds: { min: 9, max: 9 } })).toBe(
    'Generating · 42 % · 9 s left',
  )
})

const collect = (isTTY: boolean, columns = 80) => {
  let text = ''
  return { isTTY, columns, write: (part: string) => (text += part), text: () => text }
}

test('without a terminal, progress is a line per stage and tenth, without escape codes', () => {
  const stream = collect(false)
  const progress = createTaskProgress(stream)
  for (const percent of [0, 3, 9, 12, 15, 20]) progress.show({ status: 'processing', progress: percent })
  progress.end()
  expect(stream.text()).toBe('Generating · 0 %\nGenerating · 12 %\nGenerating · 20 %\n')
})

test('on a terminal, progress is one line that never wraps and is removed', () => {
  const stream = collect(true, 40)
  const progress = createTaskProgress(stream)
  progress.show(waiting)
  progress.show({ ...waiting, status: 'processing', progress: 50 })
  progress.end()
  const shown = stream.text()
  expect(shown).not.toContain('\n')
  for (const line of shown.split('\r')) expect(measureText(stripVTControlCharacters(line))).toBeLessThan(40)
  expect(shown.endsWith('\r\u001B[K')).toBe(true)
})

test('pictures are shown where the terminal can', async () => {
  const plain = { term: 'xterm-256color', program: '', isKitty: false, isMultiplexed: false }
  expect(findPictureProtocol(plain)).toBeUndefined()
  expect(findPictureProtocol({ ...plain, program: 'iTerm.app' })).toBe('iterm')
  expect(findPictureProtocol({ ...plain, program: 'iTerm.app', isMultiplexed: true })).toBeUndefined()
  expect(findPictureProtocol({ ...plain, term: 'xterm-kitty' })).toBe('kitty')
  const jpeg = Buffer.from('jpeg')
  expect(await drawPicture(jpeg, 'iterm', async () => jpeg)).toContain(`:${jpeg.toString('base64')}\u0007`)
  const png = Buffer.alloc(7_000, 1)
  const drawn = await drawPicture(jpeg, 'kitty', async () => png)
  const parts = drawn
    .split('\u001B_G')
    .slice(1)
    .map((part) => (part.split('\u001B', 1)[0] ?? '').split(';'))
  expect(parts.map(([control = '']) => control.slice(-3))).toEqual(['m=1', 'm=1', 'm=0'])
  expect(Buffer.from(parts.map(([, data]) => data).join(''), 'base64')).toEqual(png)
})
