/**
 * The text of an API key: a prefix for its kind, two characters for its cell, 28 random ones, and a checksum over all. A
 * mistyped key fails the checksum without a database query.
 */
import { createHmac } from 'node:crypto'
import { crc32 } from 'node:zlib'

import { operatorKeyPrefix } from '@kinora/contract/operator-key'

import { cellText, randomTextOfCell } from '../platform/ids/cell.ts'
import type { Secret } from '../platform/secret.ts'
import { base62 } from '../platform/text/random-text.ts'

export type KeyKind = 'payg' | 'subscription' | 'admin'

const prefixes: Record<KeyKind, string> = { payg: 'sk-', subscription: 'sk-sub-', admin: operatorKeyPrefix }
const randomLength = 30 // with the cell
const checksumLength = 6

const checksum = (text: string) => {
  let rest = crc32(text)
  let digits = ''
  while (digits.length < checksumLength) {
    digits = base62[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

export const createKeyText = (kind: KeyKind): string => {
  const text = prefixes[kind] + randomTextOfCell(randomLength)
  return text + checksum(text)
}

const shape = new RegExp(`^sk-(?:sub-|admin-)?${cellText}[0-9A-Za-z]{34}$`)

export const isKeyText = (text: string): boolean =>
  shape.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)

/** A keyed hash: without the secret, a copy of the database does not allow keys to be guessed. */
export const hashKey = (text: string, secret: Secret): Buffer =>
  createHmac('sha256', secret.reveal()).update(text).digest()

/** The part of a key that stays visible after its creation. */
export const hintOf = (text: string): string => `…${text.slice(-4)}`
