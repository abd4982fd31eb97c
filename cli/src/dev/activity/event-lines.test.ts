import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

import { expect, test } from 'vitest'

import { measureColumns } from '../../terminal/columns.ts'
import { eventLines, toEventLine } from './event-lines.ts'
import { formatHeld, formatLine } from './format-line.ts'

const context = { currency: 'USD', ownRequestId: 'kinora-dev', logDirectory: '.kinora/logs' }
const at = new Date(2026, 4, 1, 12, 30, 5)
const plain = { at, columns: 80, isColored: false }

const show = (fields: object, format = plain): string | undefined => {
  const line = toEventLine(JSON.stringify({ level: 30, role: 'worker', ...fields }), context)
  return line && formatLine(line, format)
}

const taskId = 'video_01999999-0000-7000-8000-000000000000'

test.for<[object, string | undefined]>([
  [
    { msg: 'video.completed', model: 'vidB-2', seconds: 11.2, chargedMicros: 1_000_000, taskId },
    '  12:30:05 ✓ vidB-2 completed in 11 s, 1.00 USD',
  ],
  [
    { msg: 'transcription.completed', model: 'sttA', seconds: 75, chargedMicros: 4_000 },
    '  12:30:05 ✓ sttA completed in 1 min 15 s, 0.004 USD',
  ],
  [
    { msg: 'video.failed', model: 'vidB-2', seconds: 2, code: 'upstream_error', taskId },
    `  12:30:05 ✗ vidB-2 failed: upstream_error after 2 s\n             → kinora tasks why ${taskId}`,
  ],
  [{ msg: 'video.failed', model: 'vidB-2', code: 'task_cancelled' }, '  12:30:05 · vidB-2 cancelled'],
  [
    { msg: 'request.completed', method: 'POST', path: '/v1/videos', status: 200, model: 'vidB-2', ms: 12.3 },
    '  12:30:05 · POST /v1/videos 200  vidB-2  12 ms',
  ],
  [
    {
      msg: 'request.completed',
      method: 'GET',
      path: '/v1/models',
      status: 401,
      code: 'missing_api_key',
      ms: 1,
    },
    '  12:30:05 ▲ GET /v1/models 401 missing_api_key  1 ms\n' +
      '             → Send your key in the header `Authorization: Bearer <your key>`,\n' +
      '               or in `x-api-key`.',
  ],
  [
    { level: 40, msg: 'engine.unreachable' },
    '  12:30:05 ▲ Restate does not respond. Tasks wait.\n             → See .kinora/logs/restate.log.',
  ],
  [
    { level: 50, msg: 'something.new', err: { type: 'TypeError', code: 'E1', stack: 'at secret' } },
    '  12:30:05 ✗ worker: something.new  (TypeError E1)\n             → See .kinora/logs/worker.log.',
  ],
  [{ msg: 'something.new' }, undefined],
  [{ level: 40, msg: 'engine.repaired' }, undefined],
  [
    {
      msg: 'request.completed',
      method: 'GET',
      path: '/v1/videos/:id',
      status: 200,
      clientRequestId: 'kinora-dev',
    },
    undefined,
  ],
])('%j', ([fields, expected]) => {
  expect(show(fields)).toBe(expected)
})

test('what is no structured log line is not shown', () => {
  for (const text of ['Restate 1.7', '{', '{}', '[1]', 'null', '{"msg":7}'])
    expect(toEventLine(text, context)).toBeUndefined()
})

test('no line is wider than the terminal, and no value can move its cursor', () => {
  const nasty = `${'鲸🐋 '.repeat(40)}\u001B[2J\r\n\u202E`
  for (const msg of [...Object.keys(eventLines), 'something.new'])
    for (const columns of [40, 80, 120])
      for (const isColored of [true, false]) {
        const names = [
          'model',
          'code',
          'path',
          'method',
          'provider',
          'problem',
          'warning',
          'remedy',
          'source',
          'role',
        ]
        const fields = Object.fromEntries(names.map((name) => [name, nasty]))
        const line = toEventLine(
          JSON.stringify({
            level: 50,
            msg,
            status: 500,
            chargedMicros: 123_456_789_000,
            seconds: 1e6,
            ...fields,
          }),
          context,
        )
        if (line === undefined) continue
        const held = formatHeld({ line, count: 1_000, seconds: 30 }, { at, columns, isColored })
        for (const row of [...formatLine(line, { at, columns, isColored }).split('\n'), held]) {
          const text = stripVTControlCharacters(row)
          expect(measureColumns(text), `${msg}: ${text}`).toBeLessThanOrEqual(columns)
          expect(text).not.toMatch(/[\p{Cc}\u202E]/u)
        }
      }
})

test('every event of the table is logged somewhere', () => {
  const roots = ['gateway/src', 'local/src', 'cli/src'].map((path) =>
    join(import.meta.dirname, '../../../..', path),
  )
  const sources = roots.flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('event-lines.ts') && !name.includes('.test.'))
      .map((name) => readFileSync(join(root, name), 'utf8')),
  )
  const isLogged = (event: string) => {
    const [subject = '', ending = ''] = event.split('.')
    return sources.some(
      (text) =>
        text.includes(`'${event}'`) ||
        (/^(completed|failed)$/.test(ending) && text.includes(`\`${subject}.\${ending.kind}\``)),
    )
  }
  expect(Object.keys(eventLines).filter((event) => !isLogged(event))).toEqual([])
})
