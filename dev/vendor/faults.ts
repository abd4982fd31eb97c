import type { ServerResponse } from 'node:http'
import { finished } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

import { catchAnswer } from './catch-answer.ts'

/** What a request to a vendor is about, whatever its protocol calls it. Faults are requested by these names. */
export type Occasion = 'submit' | 'poll' | 'result' | 'download' | 'cancel' | 'lookup'

/** Writes an error in the protocol's own format. */
export type Refuse = (response: ServerResponse, status: number, code: string) => void

/** Where `redirect-inside` leads unless a test says otherwise: the address at which clouds give away their keys. */
export const insideAddress = 'http://169.254.169.254/latest/meta-data/'

/** What a fault has at hand. */
interface Scene {
  response: ServerResponse
  refuse: Refuse
  redirectTo: string
  isDownload: boolean
  /** Told of every piece of a body that is too large. */
  poured: (bytes: number) => void
}

interface Fault {
  /** Only here, where it makes sense nowhere else. */
  only?: Occasion
  /** True where a submit that meets it has still made a job. */
  books: boolean
  /** Answers in the face's place. */
  instead?: (scene: Scene) => Promise<void> | void
  /** Lets the face answer, and spoils what it says. */
  spoils?: (scene: Scene) => void
}

const page = '<!doctype html><title>Oops</title><h1>Something went wrong</h1>'.repeat(4)
const megabyteOfZeros = Buffer.alloc(1024 * 1024)
const hugeMegabytes = 50
const bombMegabytes = 1024

/** The ways in which vendors misbehave. Those without an action concern the job itself, and the book sees to them. */
const faults = {
  '500': { books: false, instead: ({ response, refuse }) => refuse(response, 500, 'server_error') },
  '502-html': { books: true, instead: ({ response }) => html(response, 502) },
  '429': { books: false, instead: ({ response, refuse }) => refuse(response, 429, 'rate_limit_exceeded') },
  '429-retry-after': {
    books: false,
    instead: ({ response, refuse }) =>
      refuse(response.setHeader('retry-after', '7'), 429, 'rate_limit_exceeded'),
  },
  // Headers, and then nothing for as long as the client stays.
  silence: {
    books: true,
    instead: (scene) => scene.response.writeHead(200, typed(scene)).flushHeaders(),
  },
  drip: { books: true, spoils: ({ response }) => catchAnswer(response, (body) => void drip(response, body)) },
  'truncated-json': {
    books: true,
    spoils: ({ response }) =>
      catchAnswer(response, (body) => response.end(body.subarray(0, body.length / 2))),
  },
  garbage: { books: true, instead: ({ response }) => html(response, 200) },
  huge: { books: true, spoils: huge },
  'gzip-bomb': { books: true, instead: gzipBomb },
  'wrong-type': { books: true, spoils: wrongType },
  'redirect-inside': {
    books: false,
    instead: ({ response, redirectTo }) => void response.writeHead(302, { location: redirectTo }).end(),
  },
  drop: { books: true, instead: ({ response }) => void response.socket?.destroy() },
  // A second job is answered with the first one's id.
  'duplicate-id': { only: 'submit', books: true },
  // The job is completed, then in progress, then queued, and only then what the clock says.
  backwards: { only: 'poll', books: true },
  // The job is unknown once it was seen completed.
  'done-then-404': { only: 'poll', books: true },
} satisfies Record<string, Fault>

export type FaultName = keyof typeof faults
export const faultNames = Object.keys(faults) as FaultName[]
export const faultOf = (name: FaultName): Fault => faults[name]

/** A fault that was asked for, and how often it is still to happen. */
export interface AskedFault {
  name: FaultName
  /** Undefined for wherever it comes up first. */
  on: Occasion | undefined
  times: number
}

const asked = /([a-z0-9-]+?)(?:@(submit|poll|result|download|cancel|lookup))?(?:x(\d+|all))?/

/** Reads `name[@occasion][xN]`; a name that nobody knows is a mistake in a test, and said so. */
export function faultFrom(text: string): AskedFault {
  const [, name = '', on, times = '1'] = new RegExp(`^${asked.source}$`).exec(text) ?? []
  if (!Object.hasOwn(faults, name)) {
    throw new Error(`The vendor knows no fault "${text}". There are: ${faultNames.join(', ')}.`)
  }
  const known = name as FaultName
  return {
    name: known,
    on: (on as Occasion | undefined) ?? faultOf(known).only,
    times: times === 'all' ? Infinity : Number(times),
  }
}

/** Every fault in a text of words, as a prompt has them after `vendor:fault=`. */
export const faultsIn = (prompt: string): AskedFault[] =>
  [...prompt.matchAll(/\bvendor:fault=([\w@-]+)/g)].map(([, text = '']) => faultFrom(text))

/** The fault that is due on an occasion; taking it uses it up by one. */
export function takeFault(line: AskedFault[], on: Occasion): FaultName | undefined {
  const due = line.find((fault) => fault.times > 0 && (fault.on === undefined || fault.on === on))
  if (due === undefined) return undefined
  due.times -= 1
  return due.name
}

const typed = ({ isDownload }: Scene) => ({
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

/** Good for nothing, and right all the same: spaces before JSON mean nothing to who reads all of them. */
function huge(scene: Scene): void {
  const { response, isDownload } = scene
  catchAnswer(response, (body) => {
    const padding = Buffer.alloc(1024 * 1024, isDownload ? 'a' : ' ')
    void pour(scene, padding, hugeMegabytes).then(() => response.end(body))
  })
}

/** One compressed megabyte, repeated: a gzip body may have many parts, so that a gigabyte costs nothing to make. */
async function gzipBomb(scene: Scene): Promise<void> {
  scene.response.writeHead(200, { ...typed(scene), 'content-encoding': 'gzip' })
  const part = gzipSync(megabyteOfZeros)
  await pour(scene, Buffer.concat(Array.from({ length: 64 }, () => part)), bombMegabytes / 64)
  scene.response.end()
}

/** At the client's pace, and not at all once it has left. */
async function pour({ response, poured }: Scene, chunk: Buffer, times: number): Promise<void> {
  const gone = finished(response).catch(() => {})
  for (let written = 0; written < times && !response.destroyed; written += 1) {
    poured(chunk.length)
    if (response.write(chunk)) continue
    await Promise.race([new Promise((resolve) => response.once('drain', resolve)), gone])
  }
}

function wrongType({ response, isDownload }: Scene): void {
  catchAnswer(response, (body) => {
    response.setHeader('content-type', isDownload ? 'application/json' : 'text/plain')
    response.end(body)
  })
}
