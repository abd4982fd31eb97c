/**
 * Requests of a caller who writes words into every field: paths, queries, headers, keys, fields, and names of fields and files.
 * The same seed gives the same requests, with other words each time.
 */
import { randomInt } from 'node:crypto'

import { adminOperations } from '@kinora/contract/admin-operations'
import type { Operation } from '@kinora/contract/operation'
import { operations } from '@kinora/contract/operations'

import examples from '../../../contract/src/examples.json' with { type: 'json' }

interface Example {
  request: { parameters: Record<string, string>; contentType?: string; body?: unknown }
}

export interface HostileRequest {
  method: string
  path: string
  headers: Record<string, string>
  body: string | FormData | undefined
}

/** A sequence of numbers below 1 that depends on the seed only. */
const sequenceOf = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const letters = 12
const anyWord = () => Array.from({ length: letters }, () => String.fromCodePoint(97 + randomInt(26))).join('')

/** What is written around a word. The plain word has the form of a name, which a label might accept. */
const disguises: ((word: string) => string)[] = [
  (word) => word,
  (word) => word,
  (word) => word.toUpperCase(),
  (word) => `${word}-1`,
  (word) => `"} 1\n# HELP ${word}`,
  (word) => `${word}{model="${word}"} 1`,
  (word) => `../../${word}`,
  (word) => `${word} é 鯨 \u{1F40B}`,
  (word) => word.repeat(30),
]

const listed: [string, Operation][] = [
  ...Object.entries<Operation>(operations),
  ...Object.entries<Operation>(operations),
  ...Object.entries<Operation>(adminOperations),
]

/** Bytes that a header may contain. */
const inHeader = (text: string) => encodeURIComponent(text).replaceAll('%20', ' ')

export const createHostileRequests = (key: string) => {
  const words: string[] = []
  const build = (index: number, next: () => number): HostileRequest => {
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(next() * items.length)] as Item
    const text = () => {
      const word = anyWord()
      words.push(word)
      return pick(disguises)(word)
    }
    const [id, operation] = listed[index % listed.length] as [string, Operation]
    const { parameters, body, contentType } = (examples as Record<string, Example | undefined>)[id]
      ?.request ?? { parameters: {} }
    // Everything at once is refused at the first field, so most requests have one hostile field.
    const isAllHostile = next() < 0.25
    const write = (given: unknown): unknown => {
      if (Array.isArray(given)) return given.map(write)
      if (given !== null && typeof given === 'object') {
        const fields = Object.entries(given)
        const chosen = Math.floor(next() * (fields.length + 1))
        const written = fields.map(([name, value], at) => {
          if (!isAllHostile && at !== chosen) return [name, value]
          return [name, typeof value === 'object' && value !== null ? write(value) : text()]
        })
        return Object.fromEntries(
          isAllHostile || chosen === fields.length ? [...written, [text(), text()]] : written,
        )
      }
      return text()
    }
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(isAllHostile || next() < 0.5 ? text() : (parameters[name] ?? text())),
    )
    const query = new URLSearchParams()
    for (const name of Object.keys({
      ...operation.parameters?.query,
      ...operation.parameters?.optionalQuery,
    }))
      if (isAllHostile || next() < 0.3) query.append(name, text())
    if (next() < 0.5) query.append(text(), text())
    const isForm = contentType === 'multipart/form-data' && next() < 0.7
    const headers: Record<string, string> = {
      authorization: `Bearer ${next() < 0.2 ? inHeader(text()) : key}`,
      'user-agent': inHeader(text()),
      'x-client-request-id': inHeader(text()),
      'idempotency-key': inHeader(text()),
      traceparent: inHeader(text()),
      'x-forwarded-for': inHeader(text()),
      'openai-organization': inHeader(text()),
      accept: next() < 0.3 ? inHeader(text()) : '*/*',
      [`x-${anyWord()}`]: inHeader(text()),
      ...(!isForm &&
        body !== undefined && {
          'content-type': next() < 0.1 ? `application/${anyWord()}` : 'application/json',
        }),
    }
    const written = body === undefined ? undefined : write(body)
    const form = new FormData()
    if (isForm) {
      for (const [name, value] of Object.entries(written as Record<string, unknown>)) {
        const isFile = name === 'file' || next() < 0.1
        if (isFile) form.append(name, new Blob([text()]), text())
        else form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
      }
    }
    const isUnknown = next() < 0.1
    return {
      method: next() < 0.05 ? pick(['PUT', 'PATCH', 'DELETE']) : operation.method,
      path: isUnknown ? `/${encodeURIComponent(text())}` : `${path}?${String(query)}`,
      headers,
      body: isForm ? form : written === undefined ? undefined : JSON.stringify(written),
    }
  }
  return {
    /** Every word that was written so far. */
    words: () => words,
    requests: (count: number, seed: number): HostileRequest[] => {
      const next = sequenceOf(seed)
      return Array.from({ length: count }, (_, index) => build(index, next))
    },
  }
}
