/**
 * Reads a JSON object as fields. The bytes are scanned while they arrive: encoding, depth, member count and size are
 * checked before the JSON is parsed, and long texts go to a file instead of into memory.
 */
import type { IncomingMessage } from 'node:http'

import { ApiError } from '@kinora/contract/errors'

import type { Ticket } from '../../admission/admission.ts'
import { fieldsOf, type Fields } from './fields.ts'
import { notJson } from './json-error.ts'
import { createJsonScan, spoolingLimits, type ScanLimits } from './json-scan.ts'
import { receiveBody, type Receiving } from './receive-body.ts'
import { createTextSpool, LongText, type TextSpool } from './spooled-text.ts'
import type { UploadSpool } from './upload-spool.ts'
import { createUtf8Check } from './utf8-check.ts'

export interface JsonBody {
  fields: Fields
  /** Deletes the spooled texts. */
  discard: () => Promise<void>
}

export type BodyReading = Pick<Receiving, 'sizeBytesMax' | 'beforeLarge' | 'minimumRate' | 'inflationMax'> & {
  ticket: Ticket
  /** Runs before a form of any size is read: its files take disk space, and a program may have to inspect them. */
  beforeForm: () => Promise<void>
}

const tooLarge = (sizeBytesMax: number) => () =>
  new ApiError('request_too_large', {
    message: `The body is larger than ${Math.floor(sizeBytesMax / 1_048_576)} MiB.`,
  })

/** A spooled text of a field up to this size is read back into a string. */
const fieldTextBytesMax = 256 * 1024

const byteOrderMark = Buffer.from('\ufeff')

const withoutMark = (body: Buffer) =>
  body.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? body.subarray(byteOrderMark.length) : body

const parse = (body: Buffer, spool: TextSpool): [string, unknown][] => {
  const withLongText = (_name: string, value: unknown) => {
    const text = spool.find(value)
    return text === undefined ? value : new LongText(text)
  }
  const text = withoutMark(body).toString('utf8')
  let parsed: unknown
  try {
    parsed = spool.isUsed() ? JSON.parse(text, withLongText) : JSON.parse(text)
  } catch (error) {
    // Without its long texts, places in the body are not known.
    throw notJson(spool.isUsed() ? undefined : text, error)
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed) || parsed instanceof LongText) {
    throw new ApiError('invalid_request', { message: 'The body must be a JSON object: `{…}`.' })
  }
  return Object.entries(parsed)
}

const withShortTexts = async ([name, value]: [string, unknown]): Promise<[string, unknown]> => {
  if (!(value instanceof LongText) || value.spooled.sizeBytes > fieldTextBytesMax) return [name, value]
  return [name, value.spooled.isWellFormed ? await value.spooled.read() : value]
}

/** The limits of a body whose texts all stay in memory. */
const shortLimits = (sizeBytesMax: number): ScanLimits => ({
  ...spoolingLimits,
  textBytesMax: Infinity,
  bufferedBytesHigh: Infinity,
  textBytesMaxWhenHigh: Infinity,
  bufferedBytesMax: sizeBytesMax,
})

const withoutGuard = (limits: ScanLimits): ScanLimits => ({
  ...limits,
  depthMax: Infinity,
  membersMax: Infinity,
  bufferedBytesMax: Infinity,
})

export const readJsonBody = async (
  request: IncomingMessage,
  { ticket, ...reading }: BodyReading,
  { spool, spoolsTexts, isGuarded }: { spool: UploadSpool; spoolsTexts: boolean; isGuarded: boolean },
): Promise<JsonBody> => {
  const { sizeBytesMax } = reading
  const texts = createTextSpool(spool.directory, (bytes) => spool.charge(ticket, bytes))
  const limits = spoolsTexts ? spoolingLimits : shortLimits(sizeBytesMax)
  const scan = createJsonScan(texts, isGuarded ? limits : withoutGuard(limits), (bytes) =>
    ticket.take('bodyBytes', bytes),
  )
  const utf8 = createUtf8Check()
  const take = (chunk: Buffer) => {
    utf8.take(chunk)
    return scan.take(chunk)
  }
  try {
    await receiveBody(request, { ...reading, tooLarge: tooLarge(sizeBytesMax), take })
    utf8.end()
    await texts.finish()
    const parsed = parse(scan.remainder(), texts)
    const entries = texts.isUsed() ? await Promise.all(parsed.map(withShortTexts)) : parsed
    // A map, because in an object a name such as __proto__ has a meaning.
    return { fields: fieldsOf('json', new Map(entries)), discard: texts.discard }
  } catch (error) {
    await texts.discard()
    throw error
  }
}

/** Reads a body as raw bytes, for an operation that verifies a signature over them. */
export const readBytes = async (
  request: IncomingMessage,
  { ticket, ...reading }: BodyReading,
): Promise<Buffer> => {
  const chunks: Buffer[] = []
  await receiveBody(request, {
    ...reading,
    isRaw: true,
    tooLarge: tooLarge(reading.sizeBytesMax),
    take: (chunk) => {
      ticket.take('bodyBytes', chunk.length)
      chunks.push(chunk)
      return undefined
    },
  })
  return Buffer.concat(chunks)
}
