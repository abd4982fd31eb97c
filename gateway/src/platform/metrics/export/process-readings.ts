/** The metrics of the process itself. */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { getHeapSpaceStatistics } from 'node:v8'

import { beforeCollection, count, observe } from '../metrics.ts'

const delayResolutionMs = 20
const nanoseconds = 1e9
const microseconds = 1e6

/** Observes the process until the returned function is called. */
export const observeProcess = (): (() => void) => {
  const delay = monitorEventLoopDelay({ resolution: delayResolutionMs })
  delay.enable()
  let cpu = { user: 0, system: 0 }
  let utilization = performance.eventLoopUtilization()
  let last = { p50: 0, p99: 0, max: 0, utilization: 0 }
  // A histogram of no delays has no mean, and its shortest delay is the resolution.
  const secondsOf = (value: number) =>
    Number.isFinite(value) ? Math.max(0, value / nanoseconds - delayResolutionMs / 1000) : 0

  const stops = [
    beforeCollection(() => {
      const now = process.cpuUsage()
      count('process.cpu.time', { 'cpu.mode': 'user' }, (now.user - cpu.user) / microseconds)
      count('process.cpu.time', { 'cpu.mode': 'system' }, (now.system - cpu.system) / microseconds)
      cpu = now
      const current = performance.eventLoopUtilization()
      const share = performance.eventLoopUtilization(current, utilization).utilization
      utilization = current
      last = {
        p50: secondsOf(delay.percentile(50)),
        p99: secondsOf(delay.percentile(99)),
        max: secondsOf(delay.max),
        utilization: Number.isFinite(share) ? share : 0,
      }
      delay.reset()
    }),
    observe('process.memory.usage', () => [[process.memoryUsage.rss(), {}]]),
    observe('process.uptime', () => [[process.uptime(), {}]]),
    observe('v8js.memory.heap.used', () =>
      getHeapSpaceStatistics().map(({ space_name: name, space_used_size: used }) => [
        used,
        { 'v8js.heap.space.name': name },
      ]),
    ),
    observe('nodejs.eventloop.delay.p50', () => [[last.p50, {}]]),
    observe('nodejs.eventloop.delay.p99', () => [[last.p99, {}]]),
    observe('nodejs.eventloop.delay.max', () => [[last.max, {}]]),
    observe('nodejs.eventloop.utilization', () => [[last.utilization, {}]]),
  ]
  return () => {
    for (const stop of stops) stop()
    delay.disable()
  }
}
