import { readFile } from 'node:fs/promises'

import { expect, test } from 'vitest'

import { eventTypes } from '../contract/src/webhook-events.ts'
import { retryPausesSeconds } from '../gateway/src/webhooks/deliveries/retry-schedule.ts'

const page = await readFile(new URL('../docs/webhooks.md', import.meta.url), 'utf8')

test('the page lists every type of event, in their order', () => {
  const rows = [...page.matchAll(/^\| `([a-z_]+\.[a-z_]+)` \| (.+) \|$/gm)].map(([, type, text]) => [
    type,
    text,
  ])
  expect(rows).toEqual(Object.entries(eventTypes).map(([type, { description }]) => [type, description]))
})

test('the page has the pauses between the attempts', () => {
  const [, listed = ''] = /Retries follow after ([^,]+(?:, [^,]+)*?), each/.exec(page) ?? []
  const seconds = { s: 1, min: 60, h: 3_600 } as Record<string, number>
  const pauses = [...listed.matchAll(/(\d+) (s|min|h)\b/g)].map(
    ([, count, unit = '']) => Number(count) * (seconds[unit] ?? 0),
  )
  expect(pauses).toEqual([...retryPausesSeconds])
})
