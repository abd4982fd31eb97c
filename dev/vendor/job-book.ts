/** The jobs of the simulated vendor, and everything that can be made to go wrong with them, whatever protocol is spoken. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'

import { rewordJson } from './catch-answer.ts'
import { accountWords, noCounts, noFaults, type VendorCounts, type VendorFaults } from './control.ts'
import {
  type AskedFault,
  faultFrom,
  type FaultName,
  faultOf,
  faultsIn,
  type Occasion,
  type Refuse,
  takeFault,
} from './faults.ts'
import { type PromptWords, wordsIn } from './prompt-words.ts'

export type VendorJobState = 'queued' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'deleted'

/** What a face understood of a submit. */
interface JobOrder {
  /** The provider kind of the face, so that a test can tell whose jobs they are. */
  kind: string
  prompt: string
  model: string
  seconds: string
  size: string
  /** What the protocol has as our reference or idempotency key; undefined where it has no room for one. */
  idempotencyKey: string | undefined
  clientReference: string | undefined
  referenceBytes: number
  /** The id of the job it is a remix of. */
  remixOf: string | undefined
  /** Where the vendor is to bring its news. */
  webhookUrl: string | undefined
}

export interface BookedJob extends JobOrder {
  id: string
  submits: number
  acceptedAtMs: number
  /** From being booked to its end. */
  durationMs: number
  state: () => VendorJobState
  /** 0 to 1. */
  doneShare: () => number
  /** The vendor's word for why it failed, once it has: `content_policy_violation`, `server_error`, … */
  failCode: string | undefined
}

export interface JobBook {
  /** Where this vendor is reached, for links in answers. */
  url: () => string
  /** Which key to ask for; undefined where any will do. */
  apiKey: string | undefined
  /**
   * Books a job, after the faults that were asked for. Undefined where a fault has answered or cut the connection already,
   * or will: the face must not answer then.
   */
  submit: (
    request: IncomingMessage,
    response: ServerResponse,
    order: JobOrder,
    refuse: Refuse,
    /** Called when a job is booked, whatever becomes of the answer. */
    onBooked?: (job: BookedJob) => void,
  ) => Promise<BookedJob | undefined>
  /** Undefined for an id that is unknown, deleted or, as a fault, forgotten. */
  find: (id: string) => BookedJob | undefined
  findByReference: (reference: string) => BookedJob | undefined
  /**
   * To be called before any other answer about a job. False where a fault has answered instead; the face must not answer
   * then.
   */
  isToAnswer: (
    occasion: Exclude<Occasion, 'submit' | 'download'>,
    job: BookedJob,
    request: IncomingMessage,
    response: ServerResponse,
    refuse: Refuse,
  ) => Promise<boolean>
  /** Sends a finished job's video, or what a fault makes of it. */
  sendVideo: (
    job: BookedJob,
    request: IncomingMessage,
    response: ServerResponse,
    refuse: Refuse,
  ) => Promise<void>
  /** The same bytes, for a protocol that puts them into its answer. */
  videoOf: (job: BookedJob) => Buffer
  cancel: (job: BookedJob) => void
  remove: (job: BookedJob) => void
  /** Calls the listener when a job ends, for vendors that bring their news; never before it was booked. */
  onEnd: (job: BookedJob, listener: () => void) => void
}

export interface BookOptions {
  /** Where this vendor is reached; called when it is known. */
  url: () => string
  apiKey: string | undefined
  durationMs: number
  honoursIdempotencyKey: boolean
  /** The video that every job makes. */
  sample: Buffer
}

/** A job the vendor took, and would charge for. */
export interface VendorJob extends Omit<BookedJob, 'state' | 'doneShare' | 'failCode' | 'durationMs'> {
  state: VendorJobState
}

/** A job with all that was decided about it when it was booked. */
interface Entry {
  job: BookedJob
  words: PromptWords
  line: AskedFault[]
  endsAtMs: number
  isDeleted: boolean
  isCancelled: boolean
  /** The vendor has lost it: it is there, and nobody is told. */
  isForgotten: boolean
  forgetsOnceDone: boolean
  /** What the next checks are to say instead of the truth, the present one first. */
  said: VendorJobState[]
  badMedia: boolean
  onEnd: (() => void)[]
}

export interface VendorBook extends JobBook {
  faults: VendorFaults
  counts: VendorCounts
  jobs: () => VendorJob[]
  /** Ends all jobs that were never to finish, one after the other over this time. */
  release: (overMs: number) => void
}

export function createJobBook(options: BookOptions): VendorBook {
  const entries = new Map<string, Entry>()
  const entriesByKey = new Map<string, Entry>()
  const entriesByReference = new Map<string, Entry>()
  const submitsByKey = new Map<string, number>()
  const linesByKey = new Map<string, AskedFault[]>()
  const faults: VendorFaults = { ...noFaults }
  const counts: VendorCounts = { ...noCounts }

  const submit: JobBook['submit'] = async (request, response, order, refuse, onBooked) => {
    counts.submits += 1
    const words = wordsIn(order.prompt)
    const who = order.idempotencyKey ?? order.prompt
    const attempt = (submitsByKey.get(who) ?? 0) + 1
    submitsByKey.set(who, attempt)
    const line = linesByKey.get(who) ?? faultsIn(order.prompt)
    linesByKey.set(who, line)
    colour(words, undefined, response)

    if (words.busySubmits >= attempt || usedUp('busySubmits')) {
      counts.busy += 1
      response.setHeader('retry-after', '1')
      response.setHeader('retry-after-ms', String(faults.retryAfterMs))
      refuse(response, 429, 'rate_limit_exceeded')
      return undefined
    }
    if (words.busySubmits + words.failedSubmits >= attempt || usedUp('failedSubmits')) {
      refuse(response, 500, 'server_error')
      return undefined
    }
    if (words.rejectCode !== undefined) {
      refuse(response, 400, words.rejectCode)
      return undefined
    }
    const fault = dueFault(line, 'submit')
    if (fault !== undefined && !faultOf(fault).books) {
      await isSpared(fault, 'submit', response, refuse)
      return undefined
    }

    const key = `${order.kind} ${order.idempotencyKey ?? ''}`
    const canRepeat = options.honoursIdempotencyKey && order.idempotencyKey !== undefined
    const earlier = canRepeat ? entriesByKey.get(key) : undefined
    const latest =
      fault === 'duplicate-id'
        ? entries
            .values()
            .toArray()
            .findLast(({ job }) => job.kind === order.kind)
        : undefined
    const entry = earlier ?? book(order, words, line)
    if (earlier === undefined) {
      counts.accepted += 1
      onBooked?.(entry.job)
      if (order.idempotencyKey !== undefined) entriesByKey.set(key, entry)
    } else {
      earlier.job.submits += 1
      counts.repeated += 1
    }

    const slowMs = Math.max(words.slowReplyMs, faults.slowReplyMs)
    if (slowMs > 0) await wait(slowMs)
    const turn = attempt - words.busySubmits - words.failedSubmits
    if (words.droppedReplies >= turn || usedUp('droppedReplies')) {
      request.socket.destroy()
      return undefined
    }
    if (words.garbageReplies >= turn || usedUp('garbageReplies')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('<html>it went fine</html>')
      return undefined
    }
    if (latest !== undefined) {
      return Object.create(entry.job, { id: { value: latest.job.id, enumerable: true } }) as BookedJob
    }
    return (await isSpared(fault, 'submit', response, refuse)) ? entry.job : undefined
  }

  function book(order: JobOrder, words: PromptWords, line: AskedFault[]): Entry {
    const acceptedAtMs = Date.now()
    const durationMs = words.durationMs ?? options.durationMs
    const failCode = words.failCode ?? (faults.failCode === '' ? undefined : faults.failCode)
    const neverFinishes = words.neverFinishes || faults.neverFinishes
    const doneByNow = (): number => {
      const lengthMs = entry.endsAtMs === Infinity ? durationMs : entry.endsAtMs - acceptedAtMs
      const share = lengthMs === 0 ? 1 : (Date.now() - acceptedAtMs) / lengthMs
      return Math.min(share, entry.endsAtMs === Infinity ? 0.5 : 1)
    }
    // A tenth of its time a job waits, the rest it works; where it stands follows from the clock alone.
    const stateByNow = (): VendorJobState => {
      if (entry.isDeleted) return 'deleted'
      if (entry.isCancelled) return 'cancelled'
      const share = doneByNow()
      if (share < 0.1) return 'queued'
      if (share < 1) return 'in_progress'
      return failCode === undefined ? 'completed' : 'failed'
    }
    const state = () => entry.said[0] ?? stateByNow()
    const job: BookedJob = {
      ...order,
      id: `video_${randomBytes(12).toString('hex')}`,
      submits: 1,
      acceptedAtMs,
      durationMs,
      state,
      doneShare: () => (entry.said[0] === undefined ? doneByNow() : shareWhen[entry.said[0]]),
      get failCode() {
        return state() === 'failed' ? failCode : undefined
      },
    }
    const entry: Entry = {
      job,
      words,
      line,
      endsAtMs: neverFinishes ? Infinity : acceptedAtMs + durationMs,
      isDeleted: false,
      isCancelled: false,
      isForgotten: false,
      forgetsOnceDone: false,
      said: [],
      badMedia: words.badMedia || faults.badMedia,
      onEnd: [],
    }
    entries.set(job.id, entry)
    if (order.clientReference !== undefined) entriesByReference.set(order.clientReference, entry)
    return entry
  }

  const entryOf = (job: BookedJob): Entry => {
    const entry = entries.get(job.id)
    if (entry === undefined) throw new Error(`no job ${job.id} was booked`)
    return entry
  }

  const tellAtEnd = (entry: Entry): void => {
    if (entry.endsAtMs === Infinity) return
    const tellAll = () => {
      for (const waiting of entry.onEnd.splice(0)) waiting()
    }
    setTimeout(tellAll, Math.max(entry.endsAtMs - Date.now(), 0)).unref()
  }

  const known = (entry: Entry | undefined): BookedJob | undefined =>
    entry === undefined || entry.isDeleted || entry.isForgotten || faults.forgetful ? undefined : entry.job

  const isToAnswer: JobBook['isToAnswer'] = async (occasion, job, _request, response, refuse) => {
    const entry = entryOf(job)
    if (occasion === 'poll') {
      counts.polls += 1
      if (faults.slowPollMs > 0) await wait(faults.slowPollMs)
      if (entry.words.unavailablePolls > 0 || usedUp('unavailablePolls')) {
        entry.words.unavailablePolls -= 1
        refuse(response, 503, 'overloaded')
        return false
      }
      entry.said.shift()
    }
    const fault = dueFault(entry.line, occasion)
    if (fault === 'backwards') entry.said.push('completed', 'in_progress', 'queued')
    if (fault === 'done-then-404') entry.forgetsOnceDone = true
    // The job was found already, so that this answer still tells of it.
    if (entry.forgetsOnceDone && job.state() === 'completed') entry.isForgotten = true
    colour(entry.words, job, response)
    return isSpared(fault, occasion, response, refuse)
  }

  const videoOf = (job: BookedJob): Buffer =>
    entryOf(job).badMedia ? Buffer.from('this is not a video\n'.repeat(50)) : options.sample

  const sendVideo: JobBook['sendVideo'] = async (job, _request, response, refuse) => {
    counts.downloads += 1
    if (job.state() !== 'completed') return refuse(response, 409, 'video_not_ready')
    const entry = entryOf(job)
    if (!(await isSpared(dueFault(entry.line, 'download'), 'download', response, refuse))) return
    const media = videoOf(job)
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': media.length })
    if (entry.words.cutDownloads > 0) {
      entry.words.cutDownloads -= 1
      response.write(media.subarray(0, media.length / 2), () => response.socket?.destroy())
      return
    }
    response.end(media)
  }

  /** Lets a fault have its way; true where the face is to answer all the same. */
  async function isSpared(
    fault: FaultName | undefined,
    occasion: Occasion,
    response: ServerResponse,
    refuse: Refuse,
  ): Promise<boolean> {
    if (fault === undefined) return true
    counts.faults += 1
    const { instead, spoils } = faultOf(fault)
    const scene = {
      response,
      refuse,
      redirectTo: faults.redirectTo,
      isDownload: occasion === 'download',
      poured: (bytes: number) => {
        counts.pouredBytes += bytes
      },
    }
    spoils?.(scene)
    await instead?.(scene)
    return instead === undefined
  }

  /** What the prompt asks for comes before what control asks for. */
  function dueFault(line: AskedFault[], on: Occasion): FaultName | undefined {
    const own = takeFault(line, on)
    if (own !== undefined || faults.fault === '') return own
    const wanted = faultFrom(faults.fault)
    const taken = takeFault([wanted], on)
    if (taken === undefined || wanted.times === Infinity) return taken
    const where = wanted.on === undefined ? '' : `@${wanted.on}`
    faults.fault = wanted.times === 0 ? '' : `${wanted.name}${where}x${wanted.times}`
    return taken
  }

  /** Words that change what a face says, in whatever shape it says it. */
  function colour(words: PromptWords, job: BookedJob | undefined, response: ServerResponse): void {
    if (words.tellsTooMuch) {
      const { host } = new URL(options.url())
      const more = ` Account ${accountWords.join(', ')}: key ${options.apiKey ?? 'any'} at ${host}.`
      const isSentence = (value: unknown) => typeof value === 'string' && value.includes(' ')
      rewordJson(response, (_name, value) => (isSentence(value) ? `${String(value)}${more}` : value))
    }
    if (job !== undefined && words.oddStatus) {
      const isStatus = (name: string) => /^(status|state)$/.test(name)
      rewordJson(response, (name, value) => (isStatus(name) ? 'daydreaming' : value))
    }
    if (job?.state() === 'completed' && words.noOutput) {
      // Links by which the job itself is reached stay.
      const isOutput = (name: string, value: unknown) =>
        typeof value === 'string' &&
        !/^(get|cancel|stream)$|_url$(?<!video_url)/.test(name) &&
        (value.startsWith(options.url()) || value.length > 4096)
      rewordJson(response, (name, value) => (isOutput(name, value) ? null : value))
    }
  }

  function usedUp(
    name: 'busySubmits' | 'failedSubmits' | 'droppedReplies' | 'garbageReplies' | 'unavailablePolls',
  ) {
    if (faults[name] <= 0) return false
    faults[name] -= 1
    return true
  }

  return {
    url: options.url,
    apiKey: options.apiKey,
    faults,
    counts,
    submit,
    find: (id) => known(entries.get(id)),
    findByReference: (reference) => known(entriesByReference.get(reference)),
    isToAnswer,
    sendVideo,
    videoOf,
    cancel: (job) => {
      counts.cancels += 1
      const entry = entryOf(job)
      if (['completed', 'failed'].includes(job.state())) return
      entry.isCancelled = true
      for (const listener of entry.onEnd.splice(0)) listener()
    },
    remove: (job) => {
      counts.deletes += 1
      entryOf(job).isDeleted = true
    },
    onEnd: (job, listener) => {
      const entry = entryOf(job)
      if (job.webhookUrl === undefined) return
      entry.onEnd.push(listener)
      tellAtEnd(entry)
    },
    release: (overMs) => {
      const held = [...entries.values()].filter(({ endsAtMs }) => endsAtMs === Infinity)
      held.forEach((entry, index) => {
        entry.endsAtMs = Date.now() + ((index + 1) / held.length) * overMs
        tellAtEnd(entry)
      })
    },
    jobs: () =>
      [...entries.values()].map(({ job }) => {
        const { doneShare: _share, failCode: _code, durationMs: _duration, ...shown } = job
        return { ...shown, state: job.state() }
      }),
  }
}

const shareWhen: Record<VendorJobState, number> = {
  queued: 0,
  in_progress: 0.6,
  completed: 1,
  failed: 1,
  cancelled: 1,
  deleted: 1,
}
