import { type AddressInfo, createServer } from 'node:net'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import {
  type UnreachablePort,
  startBlackHole,
  startPlainPort,
} from '../../../dev/vendor/unreachable-ports.ts'
import { startVendor } from '../../../dev/vendor/vendor.ts'
import { protocols } from '../../src/providers/registry.ts'
import { connectTo, type Speaker } from './conformance-bench.ts'
import { type DeadEnds, guarantees } from './conformance.ts'

const idempotent = 'the same task submitted twice is one job'
const lookup = 'a job whose submit was cut off is found again by our task id, and none where there is none'
const cancel = 'a job can be cancelled, also when it is over or was cancelled before'
const discard = 'a job can be discarded, also when it is gone'
const noOutput = 'a job that is done with nothing to show for it is refused'

const pace = 'a result is read at the reader’s pace and let go when nobody wants it'
const redirect = 'a redirect leads nowhere inside, and the credential goes to the vendor alone'
const oddStatus = 'a word for a status that nobody knows means that the job goes on'
const noKey = 'it takes a repeat for a new job'
const noList = 'no list of its jobs has our task ids in it'
const goesByItself = 'its results go by themselves'

const noCancel = 'there is no call for it'

/** Protocols with special settings or with guarantees that they cannot give. */
const described: Speaker[] = [
  {
    kind: 'openai',
    model: 'maker-2',
    own: { idempotentSubmits: true, lookup: true },
    cannot: {
      [cancel]: noCancel,
      [noOutput]: 'where a video is follows from the job, so that it can only be missed when it is fetched',
    },
  },
  {
    kind: 'openai',
    variant: 'with links',
    model: 'maker-2',
    own: { results: 'link' },
    cannot: {
      [idempotent]: noKey,
      [lookup]: noList,
      [cancel]: noCancel,
    },
  },
  { kind: 'kinora', model: 'maker-2', cannot: { [lookup]: noList } },
  {
    kind: 'fal',
    model: 'maker/two/text-to-video',
    cannot: { [idempotent]: noKey, [lookup]: noList, [discard]: goesByItself },
  },
  {
    kind: 'gemini',
    variant: 'developer',
    model: 'maker-2',
    cannot: {
      [idempotent]: noKey,
      [lookup]: noList,
      [cancel]: noCancel,
      [discard]: goesByItself,
      [oddStatus]: 'an operation is done or not, and has no words for it',
    },
  },
  {
    kind: 'gemini',
    variant: 'enterprise',
    model: 'maker-2',
    own: { api: 'enterprise', project: 'clips-1' },
    cannot: {
      [idempotent]: noKey,
      [lookup]: noList,
      [cancel]: noCancel,
      [discard]: goesByItself,
      [oddStatus]: 'an operation is done or not, and has no words for it',
      [pace]: 'a video is part of an answer about its job, and there is no address to be slow at',
      [redirect]: 'there is no download that could be redirected',
    },
  },
  {
    kind: 'ai-sdk',
    model: 'maker/two',
    basePath: '/ai-sdk/v1',
    own: { package: '@ai-sdk/replicate' },
    cannot: {
      [idempotent]: noKey,
      [lookup]: noList,
      [cancel]: noCancel,
      [discard]: goesByItself,
      [oddStatus]: 'a package takes only the words it knows, so that the check fails and is made again',
    },
  },
]

/** The built-in provider's protocol, tested with that provider. */
const elsewhere = ['local']

/** Every other registered protocol, so that new ones are tested automatically; missing methods show what they cannot do. */
const plain = (kind: string): Speaker => {
  const speaker = { kind, model: 'maker/two' }
  const video = connectTo({ ...speaker, cannot: {} }, 'http://127.0.0.1:9')
  const missing = {
    [idempotent]: !video.submitsAreIdempotent && noKey,
    [lookup]: video.lookup === undefined && noList,
    [cancel]: video.cancel === undefined && noCancel,
    [discard]: video.discard === undefined && goesByItself,
  }
  const cannot = Object.entries(missing).filter((entry): entry is [string, string] => entry[1] !== false)
  return { ...speaker, cannot: Object.fromEntries(cannot) }
}

const isPlain = (kind: string) => !elsewhere.includes(kind) && !described.some((each) => each.kind === kind)
const speakers = [...described, ...Object.keys(protocols).filter(isPlain).map(plain)]

let deadEnds: DeadEnds
const opened: UnreachablePort[] = []

beforeAll(async () => {
  const [plain, hole] = await Promise.all([startPlainPort(), startBlackHole()])
  opened.push(plain, hole)
  const server = createServer().listen(0, '127.0.0.1')
  const { port } = await new Promise<AddressInfo>((resolve) =>
    server.once('listening', () => resolve(server.address() as AddressInfo)),
  )
  await new Promise((resolve) => server.close(resolve))
  deadEnds = { closedPort: `http://127.0.0.1:${port}`, plainPort: plain.url, blackHole: hole.url }
})
afterAll(() => Promise.all(opened.map((deadEnd) => deadEnd.close())))

test('every video protocol is tested, and every protocol of the simulated vendor', async () => {
  const vendor = await startVendor()
  const tried = new Set(speakers.map(({ kind }) => kind))
  expect(new Set(vendor.kinds)).toEqual(tried)
  expect(new Set(Object.keys(protocols))).toEqual(new Set([...tried, ...elsewhere]))
  await vendor.close()
})

test('every exception of a protocol names an existing guarantee', () => {
  const names = new Set(guarantees.map(({ name }) => name))
  for (const name of speakers.flatMap(({ cannot }) => Object.keys(cannot))) expect(names).toContain(name)
})

// Every test takes less than a second on a free machine.
const timing = { timeout: 120_000 }

describe.concurrent.each(speakers)('$kind $variant', (speaker) => {
  for (const { name, holds } of guarantees) {
    const reason = speaker.cannot[name]
    // An exception must fail, so that outdated exceptions are noticed.
    if (reason === undefined) test(name, timing, () => holds(speaker, deadEnds))
    else test.fails(`not: ${name}, because ${reason}`, timing, () => holds(speaker, deadEnds))
  }
})
