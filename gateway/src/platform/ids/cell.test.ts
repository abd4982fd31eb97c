import { expect, test } from 'vitest'

import { createKeyText, isKeyText } from '../../auth/key-text.ts'
import {
  createTranscriptionId,
  dayOfTranscription,
  transcriptionIdAt,
} from '../../transcription-tasks/transcription-id.ts'
import {
  createModelTaskId,
  createRemixTaskId,
  createUuidTaskId,
  taskIdAt,
  timeOfTaskId,
} from '../../videos/task-id.ts'
import { dayOfDelivery } from '../../webhooks/log/delivery-id.ts'
import { base62 } from '../text/random-text.ts'
import { cellDigits, cellText } from './cell.ts'
import { createRequestId, timeOfRequestId } from './request-id.ts'
import { timeOfUuidV7, uuidV7 } from './uuid.ts'

const atMs = Date.UTC(2026, 0, 31)
const laterMs = Date.UTC(2026, 1, 28)

interface Kind {
  create: () => string
  isKnown: (text: string) => boolean
  /** The place of the cell. */
  at: number
  written: string
}

const inUuid = (prefix: string) => ({ at: prefix.length + '00000000-0000-7'.length, written: cellDigits })
const isVideo = (id: string) => timeOfTaskId(id) !== undefined

const kinds: Record<string, Kind> = {
  'a key': { create: () => createKeyText('payg'), isKnown: isKeyText, at: 3, written: cellText },
  'a key of a subscription': {
    ...{ create: () => createKeyText('subscription'), isKnown: isKeyText, at: 7, written: cellText },
  },
  "an operator's key": { create: () => createKeyText('admin'), isKnown: isKeyText, at: 9, written: cellText },
  'a video with a model': {
    ...{ create: () => createModelTaskId('vidB-2', atMs), isKnown: isVideo, at: 18, written: cellText },
  },
  'a remix': {
    ...{ create: () => createRemixTaskId('vidB-2', atMs), isKnown: isVideo, at: 24, written: cellText },
  },
  'a remix at the time of its hold': {
    create: () => taskIdAt(createRemixTaskId('vidB-2', atMs), laterMs),
    ...{ isKnown: isVideo, at: 24, written: cellText },
  },
  'a video': { create: () => createUuidTaskId(atMs), isKnown: isVideo, ...inUuid('video_') },
  'a video at the time of its hold': {
    create: () => taskIdAt(createUuidTaskId(atMs), laterMs),
    ...{ isKnown: isVideo, ...inUuid('video_') },
  },
  'a transcription task': {
    create: () => transcriptionIdAt(createTranscriptionId(atMs), laterMs),
    isKnown: (id) => dayOfTranscription(id) !== undefined,
    ...inUuid('transcription_'),
  },
  'a request': {
    ...{ create: createRequestId, isKnown: (id) => timeOfRequestId(id) !== undefined, ...inUuid('req_') },
  },
  'a delivery': { create: uuidV7, isKnown: (id) => dayOfDelivery(id) !== undefined, ...inUuid('') },
  // Accounts, keys, characters, webhook endpoints, plans and movements have such ids as well.
  'a file': { create: uuidV7, isKnown: (id) => timeOfUuidV7(id) !== undefined, ...inUuid('') },
  'a file of known entropy': {
    create: () => uuidV7(atMs, Buffer.alloc(32, 255)),
    isKnown: (id) => timeOfUuidV7(id) !== undefined,
    ...inUuid(''),
  },
}

const withCell = (text: string, { at, written }: Kind, cell: string) =>
  text.slice(0, at) + cell.padStart(written.length, '0') + text.slice(at + written.length)

test.each(Object.entries(kinds))('%s has the cell', (_, kind) => {
  const ids = Array.from({ length: 20 }, () => kind.create())
  for (const id of ids) expect(id.slice(kind.at, kind.at + kind.written.length)).toBe(kind.written)
  expect(ids.every(kind.isKnown)).toBe(true)
  expect(new Set(ids).size).toBe(kind === kinds['a file of known entropy'] ? 1 : ids.length)
})

test.each(Object.entries(kinds))('%s of another cell is unknown', (_, kind) => {
  const id = kind.create()
  expect(kind.isKnown(withCell(id, kind, kind.written))).toBe(true)
  for (const other of ['1', 'a', '10']) expect(kind.isKnown(withCell(id, kind, other))).toBe(false)
})

test('both forms have the same number', () => {
  const ofText = [...cellText].reduce((sum, letter) => sum * base62.length + base62.indexOf(letter), 0)
  expect(parseInt(cellDigits, 16)).toBe(ofText)
})
