/** Runs one attack against its own API and judges the effect on other clients. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import type { Environment } from '../../src/config.ts'
import { startBareServer } from '../kit/bare-server.ts'
import { perSecond as floodPerSecond } from './anonymous.ts'
import { startAttackedApi, type AttackedApi, type AttackFixtures, type Launch } from './attacked-api.ts'
import type { FromAttacker, ToAttacker } from './attacker.ts'
import { environments, type AttackName } from './attacks.ts'
import {
  countChildren,
  countConnections,
  countDescriptors,
  readSpool,
  readUsage,
  startBusyShare,
  startWithheldShare,
  watchUsage,
  type Usage,
} from './measure.ts'
import { percentileOf, probeOnce, runProbes, stoppedEarly, type Probe, type Timings } from './probes.ts'
import type { Target } from './target.ts'

export interface AttackLength {
  warmUpMs: number
  rehearsalMs: number
  beforeMs: number
  duringMs: number
  /** How long the resources of an attack may take to be released. */
  afterMs: number
  /** The share of responses that must be within the limits. */
  percentile: number
}

/**
 * Several attacks use up the limits of a minute in their first seconds. A hundredth of a minute is more than a tenth of
 * four seconds, so the 90th percentile of the quick form is stricter for them than the 99th of the full one.
 */
export const lengths: Record<'quick' | 'full', AttackLength> = {
  quick: {
    ...{ warmUpMs: 500, rehearsalMs: 500, beforeMs: 1_500, duringMs: 4_000, afterMs: 10_000 },
    percentile: 0.9,
  },
  full: {
    ...{ warmUpMs: 2_000, rehearsalMs: 5_000, beforeMs: 15_000, duringMs: 60_000, afterMs: 30_000 },
    percentile: 0.99,
  },
}

interface Limits {
  slowdown: number
  memoryMib: number
  descriptors: number
  /** The share of anonymous refusals that may have a row in the request log, or this many rows. */
  loggedShare: number
  loggedRows: number
  /** How much longer a refused create may take than a health check. */
  refusalMs: number
}

const limits: Limits = {
  slowdown: 3,
  memoryMib: 200,
  descriptors: 1_000,
  loggedShare: 0.1,
  loggedRows: 100,
  refusalMs: 10,
}

/**
 * Other load on the machine makes the limits of an idle machine unreachable. Before an attack the CPU usage shows that
 * load. During it, the response times of an idle server beside the API show it, and in the quick form also how much of the
 * processors the host withholds.
 *
 * If other programs use both of two cores, the API gets about a third of one. An API that uses a quarter of a core of its
 * own is then at three quarters of its share, where each response takes three times as long for the work and three times
 * as long again for the queue in front of it. The attacks that these limits are for delay responses by many seconds.
 */
const busyShare = 0.8
const bareMsEnough = 20
const busyFactorMax = 6

/** Above these limits the API is killed, so that a successful attack does not take the machine down. */
const killAt = { residentMib: 4_096, spooledBytes: 8 * 1024 ** 3 }
/** The API opens connections to its database on demand and retains them. */
const descriptorsKept = 16

/** The resources of the API before the attack. */
interface Baseline {
  descriptors: number
  files: number
  processes: number
}

interface Left {
  connections: number
  descriptors: number
  files: number
  processes: number
  /** Requests of the attacker's own account that are still refused. */
  refusals: number
}

export interface AttackResult {
  line: string
  /** The exceeded limits; empty for an attack that failed. */
  problems: string[]
  answers: Record<string, number>
  /** The 99th percentile of this process's own delay, which bounds the precision of all times. */
  ownDelayMs: number
}

interface Options {
  length: AttackLength
  environment?: Environment
  launch?: Launch
  /** Ends the attack once it has succeeded beyond doubt. */
  stopsEarly?: boolean
  /** The probe that has to show the success; any limit otherwise. */
  shownBy?: string | undefined
}

/** Attacks during which no request of another caller may fail. */
const mayNotFail = new Set<AttackName>([
  ...(['slow-names', 'unpaid-decoding', 'held-uploads', 'hogged-speech'] as const),
])

const attackerFile = fileURLToPath(new URL('attacker.ts', import.meta.url))

const startAttacker = (attack: AttackName, target: Target) => {
  const child: ChildProcess = fork(attackerFile, {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const say = (message: ToAttacker) => child.connected && child.send(message)
  const exited = once(child, 'exit')
  let answers: Record<string, number> = {}
  child.on('message', (message) => {
    const said = message as FromAttacker
    if (said.kind === 'done') answers = said.answers
  })
  say({ kind: 'prepare', attack, target })
  const ready = Promise.race([
    once(child, 'message'),
    exited.then(() => {
      throw new Error(`the attacker of ${attack} ended before it was ready`)
    }),
  ])
  ready.catch(() => undefined)
  return {
    ready,
    attack: (durationMs: number) => say({ kind: 'attack', durationMs }),
    ended: async () => {
      await exited
      return answers
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await exited
    },
  }
}

/** A short warm-up attack, because code that runs for the first time is compiled first. */
const rehearse = async (
  name: AttackName,
  { rehearsal }: AttackedApi,
  { rehearsalMs, afterMs }: AttackLength,
) => {
  await using attacker = startAttacker(name, rehearsal)
  await attacker.ready
  attacker.attack(rehearsalMs)
  await attacker.ended()
  const untilMs = performance.now() + afterMs
  while ((await countConnections(rehearsal.port, rehearsal.address)) > 0 && performance.now() < untilMs) {
    await sleep(50)
  }
}

/** The factor by which the machine counts as slower than an idle one. */
const busyFactorOf = (
  isBusyBefore: boolean,
  bare: Timings,
  percentile: number,
  withheldFactor: number,
): number =>
  isBusyBefore
    ? busyFactorMax
    : Math.min(
        busyFactorMax,
        Math.max(1, timeOf(bare, bareProbe.name, percentile) / bareMsEnough, withheldFactor),
      )

const timeOf = (timings: Timings, name: string, percentile: number) =>
  percentileOf(timings[name]?.timesMs ?? [], percentile)

const limitOf = ({ name, enoughMs }: Probe, before: Timings, busyFactor: number, percentile: number) =>
  Math.max(enoughMs * busyFactor, limits.slowdown * timeOf(before, name, percentile))

/** A refusal must cost little more than the cheapest request. */
const areRefusalsSlow = (during: Timings, busyFactor: number, percentile: number): boolean =>
  timeOf(during, 'refused', percentile) > timeOf(during, 'livez', percentile) + limits.refusalMs * busyFactor

const bareProbe: Probe = {
  ...{ name: 'bare server', perSecond: 20, method: 'GET', path: '/', headers: {}, enoughMs: bareMsEnough },
}

/** An attack has certainly succeeded if the responses of so long a time, and this many times their allowed share, are late. */
const lateSeconds = 1.5
const lateFactor = 3

const isClearlySlow = (probe: Probe, before: Timings, during: Timings, percentile: number): boolean => {
  const timing = during[probe.name]
  if (timing === undefined) return false
  const limitMs = limitOf(probe, before, 1, percentile)
  const nowMs = performance.now()
  const waitingMs = [...timing.waitingSinceMs].map((sinceMs) => nowMs - sinceMs)
  const timesMs = [...timing.timesMs, ...waitingMs]
  const late = timesMs.filter((timeMs) => timeMs > limitMs).length
  return late > Math.max(probe.perSecond * lateSeconds, timesMs.length * (1 - percentile) * lateFactor)
}

const findLeft = async (
  { pid, spoolDirectory, target, probeTarget, attackersOwn }: AttackedApi,
  baseline: Baseline,
): Promise<Left> => {
  // The requests are sent first, so that their own connections are not counted.
  const own = await Promise.all(attackersOwn.map((probe) => probeOnce(probeTarget, probe)))
  const [connections, descriptors, spool, processes] = await Promise.all([
    countConnections(target.port, target.address),
    countDescriptors(pid),
    readSpool(spoolDirectory),
    countChildren(pid),
  ])
  return {
    connections,
    descriptors: Math.max(0, descriptors - baseline.descriptors - descriptorsKept - connections),
    files: Math.max(0, spool.files - baseline.files),
    processes: Math.max(0, processes - baseline.processes),
    refusals: own.filter((tookMs) => tookMs === undefined).length,
  }
}

const sumOf = (left: Left) => Object.values(left).reduce((sum: number, count: number) => sum + count, 0)

/** Polls until nothing is left or the time is over. */
const waitUntilNothingLeft = async (api: AttackedApi, baseline: Baseline, ms: number) => {
  const untilMs = performance.now() + ms
  let left = await findLeft(api, baseline)
  while (sumOf(left) > 0 && performance.now() < untilMs) {
    await sleep(250)
    left = await findLeft(api, baseline)
  }
  return left
}

const rounded = (value: number) => (value < 10 ? Math.round(value * 10) / 10 : Math.round(value))
const mib = (bytes: number) => Math.round(bytes / 1_048_576)

const wordsOf = (left: Left): string => {
  const parts = Object.entries(left).filter(([, count]) => count > 0)
  return parts.length === 0 ? '0' : parts.map(([name, count]) => `${count} ${name}`).join(' and ')
}

export const runAttack = async (
  fixtures: AttackFixtures,
  name: AttackName,
  { length, environment = {}, launch, stopsEarly = false, shownBy }: Options,
): Promise<AttackResult> => {
  const { postgres } = fixtures.database
  const { percentile } = length
  const { names, speech } = fixtures
  const services: Partial<Record<AttackName, Environment>> = {
    ...{ 'slow-names': names.environment, 'hogged-speech': speech.environment },
  }
  const own = services[name] ?? environments[name]
  await using api = await startAttackedApi(fixtures, { ...own, ...environment }, launch)
  await using attacker = startAttacker(name, api.target)
  await using bareServer = await startBareServer()
  const { pid, spoolDirectory, probeTarget } = api
  const probes = [
    ...api.probes,
    ...(name === 'media-work' || name === 'unpaid-decoding' ? [api.transcriptionProbe] : []),
    ...(name === 'overload' ? api.overloadProbes : []),
    ...(name === 'slow-names' ? api.nameProbes : []),
    ...(name === 'held-uploads' ? [api.uploadProbe] : []),
    ...(name === 'hogged-speech' ? [api.speechProbe] : []),
  ]
  const refusalRows = async () => {
    const sql = 'select count(*) from request_log where key_id is null and status >= 400'
    const { rows } = await postgres.query<{ count: number }>(sql)
    return rows[0]?.count ?? 0
  }

  await runProbes(probeTarget, probes, AbortSignal.timeout(length.warmUpMs))
  if (!stopsEarly) await rehearse(name, api, length)
  await attacker.ready
  const busyBefore = startBusyShare()
  const before = await runProbes(probeTarget, probes, AbortSignal.timeout(length.beforeMs))
  const isBusyBefore = busyBefore() > busyShare
  const [usageBefore, { files }, processes, rowsBefore] = await Promise.all([
    readUsage(pid, spoolDirectory),
    readSpool(spoolDirectory),
    countChildren(pid),
    refusalRows(),
  ])

  const grown = (usage: Usage) => ({
    memoryMib: usage.residentMib - usageBefore.residentMib,
    descriptors: usage.descriptors - usageBefore.descriptors,
    spooledBytes: usage.spooledBytes - usageBefore.spooledBytes,
  })
  const stopping = new AbortController()
  const over = AbortSignal.any([AbortSignal.timeout(length.duringMs), stopping.signal])
  const during: Timings = {}
  const bare: Timings = {}
  const startedMs = performance.now()
  const ownDelay = monitorEventLoopDelay({ resolution: 10 })
  ownDelay.enable()
  const withheld = startWithheldShare()
  let withheldFactor = 1
  let wasKilled = false
  attacker.attack(length.duringMs)
  const watchRows = async () => {
    const enough = Math.max(limits.loggedRows, (limits.loggedShare * floodPerSecond * length.duringMs) / 1000)
    while (stopsEarly && !over.aborted) {
      if ((await refusalRows()) - rowsBefore > enough) stopping.abort(stoppedEarly)
      await sleep(500, undefined, { signal: over }).catch(() => undefined)
    }
  }
  const watching = watchUsage(pid, spoolDirectory, over, (usage) => {
    const growth = grown(usage)
    const isBeyond =
      shownBy === undefined &&
      (growth.memoryMib > limits.memoryMib || growth.descriptors > limits.descriptors)
    const showing = probes.filter((probe) => shownBy === undefined || probe.name === shownBy)
    const isSlow = () => showing.some((probe) => isClearlySlow(probe, before, during, percentile))
    wasKilled ||= usage.residentMib > killAt.residentMib || usage.spooledBytes > killAt.spooledBytes
    if (wasKilled || (stopsEarly && (isBeyond || isSlow()))) stopping.abort(stoppedEarly)
  })
  const [most] = await Promise.all([
    watching.then(async (most) => {
      // A process that has ended can no longer be sampled.
      const hasEnded = !over.aborted
      if (!hasEnded && length === lengths.quick) withheldFactor = 1 / (1 - withheld())
      wasKilled ||= hasEnded
      if (hasEnded || stopping.signal.aborted) {
        stopping.abort(stoppedEarly)
        await api.kill()
      }
      return most
    }),
    runProbes(probeTarget, probes, over, during),
    runProbes({ ...probeTarget, port: bareServer.port }, [bareProbe], over, bare),
    watchRows(),
  ])
  const seconds = (performance.now() - startedMs) / 1000
  ownDelay.disable()
  const isOver = stopping.signal.aborted
  if (isOver) await attacker[Symbol.asyncDispose]()
  const answers = await attacker.ended()
  const left = isOver
    ? undefined
    : await waitUntilNothingLeft(
        api,
        { descriptors: usageBefore.descriptors, files, processes },
        length.afterMs,
      )
  // Also writes the rest of the request log.
  await api.stop()

  const growth = grown(most)
  const busyFactor = stopsEarly ? 1 : busyFactorOf(isBusyBefore, bare, percentile, withheldFactor)
  const rows = (await refusalRows()) - rowsBefore
  const answered = Object.values(answers).reduce((sum, count) => sum + count, 0)
  const slow = probes.filter(
    (probe) =>
      timeOf(during, probe.name, percentile) > limitOf(probe, before, busyFactor, percentile) ||
      (mayNotFail.has(name) && (during[probe.name]?.failed ?? 0) > 0),
  )
  const problems = [
    ...slow.map((probe) => probe.name),
    ...(areRefusalsSlow(during, busyFactor, percentile) && !slow.some((probe) => probe.name === 'refused')
      ? ['refused']
      : []),
    ...(growth.memoryMib > limits.memoryMib ? ['memory'] : []),
    ...(growth.descriptors > limits.descriptors ? ['descriptors'] : []),
    ...(rows > Math.max(limits.loggedRows, limits.loggedShare * answered) ? ['log'] : []),
    ...(left !== undefined && sumOf(left) > 0 ? ['left'] : []),
    ...(wasKilled ? ['ended'] : []),
  ]
  const timing = (probe: Probe) => {
    const { name } = probe
    const [from, to] = [before, during].map((timings) => rounded(timeOf(timings, name, percentile)))
    const failed = during[name]?.failed ?? 0
    const count = !('expects' in probe) ? '' : ` (${during[name]?.timesMs.length ?? 0} times)`
    return `${name} ${from}→${to} ms${failed > 0 ? ` (${failed} failed)` : ''}${count}`
  }
  const figures = [
    `p${percentile * 100}`,
    ...(busyFactor > 1 ? [`(busy machine: limits ×${busyFactor.toFixed(1)})`] : []),
    ...probes.map(timing),
    `memory +${Math.max(0, Math.round(growth.memoryMib))} MiB`,
    `descriptors +${Math.max(0, growth.descriptors)}`,
    `disk +${mib(growth.spooledBytes)} MiB`,
    `log +${rows} rows`,
    left === undefined ? `stopped after ${seconds.toFixed(1)} s` : `left ${wordsOf(left)}`,
    problems.length === 0 ? 'ok' : `FAILED (${problems.join(', ')})`,
  ]
  return { line: figures.join('  '), problems, answers, ownDelayMs: ownDelay.percentile(99) / 1e6 - 10 }
}
