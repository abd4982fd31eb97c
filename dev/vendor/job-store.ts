/** The jobs of the simulated vendor and their faults, shared by all protocols. */
import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

import { accountSecrets, noCounts, noFaults, type VendorCounts, type VendorFaults } from './control.ts'
import {
  type RequestedFault,
  parseFault,
  type FaultName,
  faultOf,
  faultsIn,
  type FaultPoint,
  type Refuse,
  consumeFault,
} from './faults.ts'
import { rewriteJson } from './intercept-response.ts'
import { createJobVideo } from './job-video.ts'
import type { AcceptedJob, JobOrder, JobStore, JobStoreOptions, VendorJob, VendorJobState } from './job.ts'
import { type PromptDirectives, directivesIn } from './prompt-directives.ts'

/** A job with its directives and faults. */
interface JobRecord {
  job: AcceptedJob
  directives: PromptDirectives
  faultQueue: RequestedFault[]
  endsAtMs: number
  isDeleted: boolean
  isCancelled: boolean
  /** The job exists but is reported as unknown. */
  isForgotten: boolean
  forgetsOnceDone: boolean
  /** States to report instead of the real one, the current one first. */
  reportedStates: VendorJobState[]
  badMedia: boolean
  onEnd: (() => void)[]
}

export interface VendorJobStore extends JobStore {
  faults: VendorFaults
  counts: VendorCounts
  jobs: () => VendorJob[]
  /** The prompts with a fault that has never happened, because the vendor was not asked at its point. */
  unusedFaults: () => string[]
  /** Ends all jobs that never finish, one after the other over this time. */
  release: (overMs: number) => void
}

export function createJobStore(options: JobStoreOptions): VendorJobStore {
  const records = new Map<string, JobRecord>()
  const recordsByKey = new Map<string, JobRecord>()
  const recordsByReference = new Map<string, JobRecord>()
  const submitsByKey = new Map<string, number>()
  const faultsByKey = new Map<string, RequestedFault[]>()
  const requestedFaults: { prompt: string; fault: RequestedFault; times: number }[] = []
  const faults: VendorFaults = { ...noFaults }
  const counts: VendorCounts = { ...noCounts }

  const submit: JobStore['submit'] = async (request, response, order, refuse, onAccepted) => {
    counts.submits += 1
    const directives = directivesIn(order.prompt)
    const submitKey = order.idempotencyKey ?? order.prompt
    const attempt = (submitsByKey.get(submitKey) ?? 0) + 1
    submitsByKey.set(submitKey, attempt)
    const faultQueue = faultsByKey.get(submitKey) ?? requestFaults(order.prompt)
    faultsByKey.set(submitKey, faultQueue)
    rewriteResponse(directives, undefined, response)

    if (directives.busySubmits >= attempt || consume('busySubmits')) {
      counts.busy += 1
      response.setHeader('retry-after', '1')
      response.setHeader('retry-after-ms', String(faults.retryAfterMs))
      refuse(response, 429, 'rate_limit_exceeded')
      return undefined
    }
    if (directives.busySubmits + directives.failedSubmits >= attempt || consume('failedSubmits')) {
      refuse(response, 500, 'server_error')
      return undefined
    }
    if (directives.rejectCode !== undefined) {
      refuse(response, 400, directives.rejectCode)
      return undefined
    }
    const fault = nextFault(faultQueue, 'submit')
    if (fault !== undefined && !faultOf(fault).acceptsJob) {
      await applyFault(fault, 'submit', response, refuse)
      return undefined
    }

    const key = `${order.kind} ${order.idempotencyKey ?? ''}`
    const canRepeat = options.honoursIdempotencyKey && order.idempotencyKey !== undefined
    const earlier = canRepeat ? recordsByKey.get(key) : undefined
    const latest =
      fault === 'duplicate-id'
        ? records
            .values()
            .toArray()
            .findLast(({ job }) => job.kind === order.kind)
        : undefined
    const record = earlier ?? accept(order, directives, faultQueue)
    if (earlier === undefined) {
      counts.accepted += 1
      onAccepted?.(record.job)
      if (order.idempotencyKey !== undefined) recordsByKey.set(key, record)
    } else {
      earlier.job.submits += 1
      counts.repeated += 1
    }

    const slowMs = Math.max(directives.slowReplyMs, faults.slowReplyMs)
    if (slowMs > 0) await wait(slowMs)
    const reply = attempt - directives.busySubmits - directives.failedSubmits
    if (directives.droppedReplies >= reply || consume('droppedReplies')) {
      request.socket.destroy()
      return undefined
    }
    if (directives.garbageReplies >= reply || consume('garbageReplies')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('<html>it went fine</html>')
      return undefined
    }
    if (latest !== undefined) {
      return Object.create(record.job, { id: { value: latest.job.id, enumerable: true } }) as AcceptedJob
    }
    return (await applyFault(fault, 'submit', response, refuse)) ? record.job : undefined
  }

  function requestFaults(prompt: string): RequestedFault[] {
    const requested = faultsIn(prompt)
    for (const fault of requested)
      if (fault.times !== Infinity) requestedFaults.push({ prompt, fault, times: fault.times })
    return requested
  }

  function accept(order: JobOrder, directives: PromptDirectives, faultQueue: RequestedFault[]): JobRecord {
    const acceptedAtMs = Date.now()
    const durationMs = directives.durationMs ?? options.durationMs
    const failCode = directives.failCode ?? (faults.failCode === '' ? undefined : faults.failCode)
    const neverFinishes = directives.neverFinishes || faults.neverFinishes
    const doneByNow = (): number => {
      const lengthMs = record.endsAtMs === Infinity ? durationMs : record.endsAtMs - acceptedAtMs
      const share = lengthMs === 0 ? 1 : (Date.now() - acceptedAtMs) / lengthMs
      return Math.min(share, record.endsAtMs === Infinity ? 0.5 : 1)
    }
    const queuedShare = directives.beginsAtOnce ? 0 : 0.1
    // A job is queued for a tenth of its duration; its state depends only on the clock.
    const stateByNow = (): VendorJobState => {
      if (record.isDeleted) return 'deleted'
      if (record.isCancelled) return 'cancelled'
      const share = doneByNow()
      if (share < queuedShare) return 'queued'
      if (share < 1) return 'in_progress'
      return failCode === undefined ? 'completed' : 'failed'
    }
    const state = () => record.reportedStates[0] ?? stateByNow()
    const job: AcceptedJob = {
      ...order,
      id: `video_${randomBytes(12).toString('hex')}`,
      submits: 1,
      acceptedAtMs,
      durationMs,
      state,
      doneShare: () =>
        record.reportedStates[0] === undefined ? doneByNow() : shareOf[record.reportedStates[0]],
      get failCode() {
        return state() === 'failed' ? failCode : undefined
      },
    }
    const record: JobRecord = {
      job,
      directives,
      faultQueue,
      endsAtMs: neverFinishes ? Infinity : acceptedAtMs + durationMs,
      isDeleted: false,
      isCancelled: false,
      isForgotten: false,
      forgetsOnceDone: false,
      reportedStates: [],
      badMedia: directives.badMedia || faults.badMedia,
      onEnd: [],
    }
    records.set(job.id, record)
    if (order.clientReference !== undefined) recordsByReference.set(order.clientReference, record)
    return record
  }

  const recordOf = (job: AcceptedJob): JobRecord => {
    const record = records.get(job.id)
    if (record === undefined) throw new Error(`job ${job.id} does not exist`)
    return record
  }

  const notifyAtEnd = (record: JobRecord): void => {
    if (record.endsAtMs === Infinity) return
    const notifyAll = () => {
      for (const waiting of record.onEnd.splice(0)) waiting()
    }
    setTimeout(notifyAll, Math.max(record.endsAtMs - Date.now(), 0)).unref()
  }

  const known = (record: JobRecord | undefined): AcceptedJob | undefined =>
    record === undefined || record.isDeleted || record.isForgotten || faults.forgetful
      ? undefined
      : record.job

  const mayAnswer: JobStore['mayAnswer'] = async (point, job, _request, response, refuse) => {
    const record = recordOf(job)
    if (point === 'poll') {
      counts.polls += 1
      if (faults.slowPollMs > 0) await wait(faults.slowPollMs)
      if (record.directives.unavailablePolls > 0 || consume('unavailablePolls')) {
        record.directives.unavailablePolls -= 1
        refuse(response, 503, 'overloaded')
        return false
      }
      record.reportedStates.shift()
    }
    const fault = nextFault(record.faultQueue, point)
    if (fault === 'backwards') record.reportedStates.push('completed', 'in_progress', 'queued')
    if (fault === 'done-then-404') record.forgetsOnceDone = true
    // This response still reports the job; the next one does not.
    if (record.forgetsOnceDone && job.state() === 'completed') record.isForgotten = true
    rewriteResponse(record.directives, job, response)
    return applyFault(fault, point, response, refuse)
  }

  const videoOf = (job: AcceptedJob): Buffer => {
    if (recordOf(job).badMedia) return Buffer.from('this is not a video\n'.repeat(50))
    return options.hasDistinctVideos ? createJobVideo(options.sample, job) : options.sample
  }

  const sendVideo: JobStore['sendVideo'] = async (job, _request, response, refuse) => {
    counts.downloads += 1
    const record = recordOf(job)
    if (job.state() !== 'completed') {
      // A service that has seen the job completed does not poll it again.
      record.reportedStates.shift()
      return refuse(response, 409, 'video_not_ready')
    }
    if (!(await applyFault(nextFault(record.faultQueue, 'download'), 'download', response, refuse))) return
    const { video } = record.directives
    if (video !== undefined && options.videoDirectory !== undefined)
      return sendFile(join(options.videoDirectory, `${video}.mp4`), response)
    const media = videoOf(job)
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': media.length })
    if (record.directives.cutDownloads > 0) {
      record.directives.cutDownloads -= 1
      response.write(media.subarray(0, media.length / 2), () => response.socket?.destroy())
      return
    }
    response.end(media)
  }

  /** Applies a fault; returns true if the protocol still has to respond. */
  async function applyFault(
    fault: FaultName | undefined,
    point: FaultPoint,
    response: ServerResponse,
    refuse: Refuse,
  ): Promise<boolean> {
    if (fault === undefined) return true
    counts.faults += 1
    const { instead, modifies } = faultOf(fault)
    const context = {
      response,
      refuse,
      redirectTo: faults.redirectTo,
      isDownload: point === 'download',
      poured: (bytes: number) => {
        counts.pouredBytes += bytes
      },
    }
    modifies?.(context)
    await instead?.(context)
    return instead === undefined
  }

  /** Faults of the prompt come before faults of control. */
  function nextFault(faultQueue: RequestedFault[], on: FaultPoint): FaultName | undefined {
    const own = consumeFault(faultQueue, on)
    if (own !== undefined || faults.fault === '') return own
    const wanted = parseFault(faults.fault)
    const next = consumeFault([wanted], on)
    if (next === undefined || wanted.times === Infinity) return next
    const where = wanted.on === undefined ? '' : `@${wanted.on}`
    faults.fault = wanted.times === 0 ? '' : `${wanted.name}${where}x${wanted.times}`
    return next
  }

  /** Applies directives that change the response, in any protocol. */
  function rewriteResponse(
    directives: PromptDirectives,
    job: AcceptedJob | undefined,
    response: ServerResponse,
  ): void {
    if (directives.tellsTooMuch) {
      const { host } = new URL(options.url())
      const more = ` Account ${accountSecrets.join(', ')}: key ${options.apiKey ?? 'any'} at ${host}.`
      const isSentence = (value: unknown) => typeof value === 'string' && value.includes(' ')
      rewriteJson(response, (_name, value) => (isSentence(value) ? `${String(value)}${more}` : value))
    }
    if (job !== undefined && directives.oddStatus) {
      const isStatus = (name: string) => /^(status|state)$/.test(name)
      rewriteJson(response, (name, value) => (isStatus(name) ? 'daydreaming' : value))
    }
    if (job?.state() === 'completed' && directives.noOutput) {
      // URLs of the job itself stay.
      const isOutput = (name: string, value: unknown) =>
        typeof value === 'string' &&
        !/^(get|cancel|stream)$|_url$(?<!video_url)/.test(name) &&
        (value.startsWith(options.url()) || value.length > 4096)
      rewriteJson(response, (name, value) => (isOutput(name, value) ? null : value))
    }
  }

  function consume(
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
    find: (id) => known(records.get(id)),
    findByReference: (reference) => known(recordsByReference.get(reference)),
    mayAnswer,
    sendVideo,
    videoOf,
    cancel: (job) => {
      counts.cancels += 1
      const record = recordOf(job)
      if (['completed', 'failed'].includes(job.state())) return
      record.isCancelled = true
      for (const listener of record.onEnd.splice(0)) listener()
    },
    remove: (job) => {
      counts.deletes += 1
      recordOf(job).isDeleted = true
    },
    onEnd: (job, listener) => {
      const record = recordOf(job)
      if (job.webhookUrl === undefined) return
      record.onEnd.push(listener)
      notifyAtEnd(record)
    },
    release: (overMs) => {
      const held = [...records.values()].filter(({ endsAtMs }) => endsAtMs === Infinity)
      held.forEach((record, index) => {
        record.endsAtMs = Date.now() + ((index + 1) / held.length) * overMs
        notifyAtEnd(record)
      })
    },
    unusedFaults: () =>
      requestedFaults.flatMap(({ prompt, fault, times }) => (fault.times === times ? prompt : [])),
    jobs: () =>
      [...records.values()].map(({ job }) => {
        const { doneShare: _share, failCode: _code, durationMs: _duration, ...shown } = job
        return { ...shown, state: job.state() }
      }),
  }
}

const shareOf: Record<VendorJobState, number> = {
  queued: 0,
  in_progress: 0.6,
  completed: 1,
  failed: 1,
  cancelled: 1,
  deleted: 1,
}

/** Leaves the connection of a client that has gone to the server. */
async function sendFile(path: string, response: ServerResponse): Promise<void> {
  const { size } = await stat(path)
  response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': size })
  createReadStream(path, { highWaterMark: 1_048_576 }).pipe(response)
}
