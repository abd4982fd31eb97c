import type { ServerResponse } from 'node:http'
import { finished } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

import { interceptResponse } from './intercept-response.ts'

/** The kinds of requests at which faults can be injected, in every protocol. */
export type FaultPoint = 'submit' | 'poll' | 'result' | 'download' | 'cancel' | 'lookup'

/** Writes an error in the protocol's own format. */
export type Refuse = (response: ServerResponse, status: number, code: string) => void

/** The default target of `redirect-inside`: the metadata endpoint of clouds. */
export const internalUrl = 'http://169.254.169.254/latest/meta-data/'

interface FaultContext {
  response: ServerResponse
  refuse: Refuse
  redirectTo: string
  isDownload: boolean
  /** Counts the bytes of oversized bodies. */
  poured: (bytes: number) => void
}

interface Fault {
  /** The only point where this fault makes sense. */
  only?: FaultPoint
  /** Whether a submit with this fault still creates a job. */
  acceptsJob: boolean
  /** Responds instead of the protocol. */
  instead?: (context: FaultContext) => Promise<void> | void
  /** Modifies the response of the protocol. */
  modifies?: (context: FaultContext) => void
}

const page = '<!doctype html><title>Oops</title><h1>Something went wrong</h1>'.repeat(4)
const megabyteOfZeros = Buffer.alloc(1024 * 1024)
const hugeMegabytes = 50
const bombMegabytes = 1024

/** Misbehaviours of vendors. Faults without an action concern the job itself; the job store implements them. */
const faults = {
  '500': { acceptsJob: false, instead: ({ response, refuse }) => refuse(response, 500, 'server_error') },
  '502-html': { acceptsJob: true, instead: ({ response }) => html(response, 502) },
  '429': {
    acceptsJob: false,
    instead: ({ response, refuse }) => refuse(response, 429, 'rate_limit_exceeded'),
  },
  '429-retry-after': {
    acceptsJob: false,
    instead: ({ response, refuse }) =>
      refuse(response.setHeader('retry-after', '7'), 429, 'rate_limit_exceeded'),
  },
  // Sends headers and then nothing.
  silence: {
    acceptsJob: true,
    instead: (context) => context.response.writeHead(200, typed(context)).flushHeaders(),
  },
  drip: {
    acceptsJob: true,
    modifies: ({ response }) => interceptResponse(response, (body) => void drip(response, body)),
  },
  'truncated-json': {
    acceptsJob: true,
    modifies: ({ response }) =>
      interceptResponse(response, (body) => response.end(body.subarray(0, body.length / 2))),
  },
  garbage: { acceptsJob: true, instead: ({ response }) => html(response, 200) },
  huge: { acceptsJob: true, modifies: huge },
  'gzip-bomb': { acceptsJob: true, instead: gzipBomb },
  'wrong-type': { acceptsJob: true, modifies: wrongType },
  'redirect-inside': {
    acceptsJob: false,
    instead: ({ response, redirectTo }) => void response.writeHead(302, { location: redirectTo }).end(),
  },
  drop: { acceptsJob: true, instead: ({ response }) => void response.socket?.destroy() },
  empty: {
    only: 'download',
    acceptsJob: true,
    instead: ({ response }) => void response.writeHead(200).end(),
  },
  // A valid file with zeros among its frames.
  damaged: {
    only: 'download',
    acceptsJob: true,
    modifies: ({ response }) =>
      interceptResponse(response, (body) => {
        const start = body.indexOf('mdat') + 200
        response.end(Buffer.from(body).fill(0, start, start + 3_000))
      }),
  },
  // Announces more than any service accepts, and sends nothing.
  oversized: {
    only: 'download',
    acceptsJob: true,
    instead: (context) =>
      context.response.writeHead(200, { ...typed(context), 'content-length': 2 ** 40 }).flushHeaders(),
  },
  // A second job gets the id of the first one.
  'duplicate-id': { only: 'submit', acceptsJob: true },
  // The job reports completed, in progress, queued, and then its real state. Refused downloads count as reports.
  backwards: { only: 'poll', acceptsJob: true },
  // The job is unknown after it was reported as completed.
  'done-then-404': { only: 'poll', acceptsJob: true },
} satisfies Record<string, Fault>

export type FaultName = keyof typeof faults
export const faultNames = Object.keys(faults) as FaultName[]
export const faultOf = (name: FaultName): Fault => faults[name]

/** A requested fault, with the number of times left. */
export interface RequestedFault {
  name: FaultName
  /** Undefined for the first possible point. */
  on: FaultPoint | undefined
  times: number
}

const faultPattern = /([a-z0-9-]+?)(?:@(submit|poll|result|download|cancel|lookup))?(?:x(\d+|all))?/

/** Parses `name[@point][xN]`; throws for an unknown name. */
export function parseFault(text: string): RequestedFault {
  const [, name = '', on, times = '1'] = new RegExp(`^${faultPattern.source}$`).exec(text) ?? []
  if (!Object.hasOwn(faults, name)) {
    throw new Error(`Unknown fault "${text}". The faults are: ${faultNames.join(', ')}.`)
  }
  const known = name as FaultName
  return {
    name: known,
    on: (on as FaultPoint | undefined) ?? faultOf(known).only,
    times: times === 'all' ? Infinity : Number(times),
  }
}

/** Returns the faults that a prompt requests with `vendor:fault=`. */
export const faultsIn = (prompt: string): RequestedFault[] =>
  [...prompt.matchAll(/\bvendor:fault=([\w@-]+)/g)].map(([, text = '']) => parseFault(text))

/** Returns the next fault for a point and decrements its count. */
export function consumeFault(queue: RequestedFault[], on: FaultPoint): FaultName | undefined {
  const due = queue.find((fault) => fault.times > 0 && (fault.on === undefined || fault.on === on))
  if (due === undefined) return undefined
  due.times -= 1
  return due.name
}

const typed = ({ isDownload }: FaultContext) => ({
  'content-type': isDownload ? 'video/mp4' : 'application/json',
})

function html(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'text/html' }).end(page)
}

async function drip(response: ServerResponse, body: Buffer): Promise<void> {
  for (const byte of body) {
    if (response.destroyed) return
    response.write(Buffer.of(byte))
    await wait(1000, undefined, { ref: false })
  }
  response.end()
}

/** Sends a huge but valid body: JSON may have any number of leading spaces. */
function huge(context: FaultContext): void {
  const { response, isDownload } = context
  interceptResponse(response, (body) => {
    const padding = Buffer.alloc(1024 * 1024, isDownload ? 'a' : ' ')
    void pour(context, padding, hugeMegabytes).then(() => response.end(body))
  })
}

/** Repeats one compressed megabyte, because a gzip body may have many members. */
async function gzipBomb(context: FaultContext): Promise<void> {
  context.response.writeHead(200, { ...typed(context), 'content-encoding': 'gzip' })
  const part = gzipSync(megabyteOfZeros)
  await pour(context, Buffer.concat(Array.from({ length: 64 }, () => part)), bombMegabytes / 64)
  context.response.end()
}

/** Writes with backpressure until the client disconnects. */
async function pour({ response, poured }: FaultContext, chunk: Buffer, times: number): Promise<void> {
  const gone = finished(response).catch(() => {})
  for (let written = 0; written < times && !response.destroyed; written += 1) {
    poured(chunk.length)
    if (response.write(chunk)) continue
    await Promise.race([new Promise((resolve) => response.once('drain', resolve)), gone])
  }
}

function wrongType({ response, isDownload }: FaultContext): void {
  interceptResponse(response, (body) => {
    response.setHeader('content-type', isDownload ? 'application/json' : 'text/plain')
    response.end(body)
  })
}
