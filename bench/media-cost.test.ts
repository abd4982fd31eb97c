/** How often a worker reads and writes each byte of a result. It does not depend on the machine. */
import { readFileSync } from 'node:fs'

import { expect, test } from 'vitest'

import { createVideoOf, startBenchStack, untilNoneIsOpen } from './bench-stack.ts'
import { minus, per, type Figures } from './measure/figures.ts'
import { runLoad } from './measure/load.ts'
import { makeResultVideo, type Layout } from './measure/result-videos.ts'

const tasks = 4
const megabytes = 8
/** What the engine, the database and the logs send and receive of a task besides. */
const tolerance = 0.1

/** The bytes that a process has read and written, from and to files and connections. */
const bytesOf = (pid: number | undefined): Figures => {
  const text = readFileSync(`/proc/${pid}/io`, 'utf8')
  const valueOf = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1])
  return { read: valueOf('rchar'), written: valueOf('wchar') }
}

test('a worker reads each byte of a result once, again only if its tables are at the end, and writes it once', async () => {
  const layouts: Layout[] = ['tables first', 'tables last']
  const videos = await Promise.all(layouts.map((layout) => makeResultVideo(megabytes, layout)))
  await using bench = await startBenchStack({ videoDirectory: videos[0]?.directory ?? '' })
  const { stack, keys, origin } = bench
  const [worker] = stack.workers
  const measured: Figures[] = []
  for (const { name, sizeBytes } of videos) {
    const before = bytesOf(worker.pid())
    const create = createVideoOf(keys, `vendor:duration=0 vendor:video=${name}`)
    await runLoad(origin, create, { until: { count: tasks } })
    await untilNoneIsOpen(stack)
    measured.push(per(minus(bytesOf(worker.pid()), before), tasks * sizeBytes))
  }
  console.log(Object.fromEntries(layouts.map((layout, index) => [layout, measured[index]])))
  const [first, last] = measured
  expect(first?.['read']).toBeLessThan(1 + tolerance)
  expect(first?.['written']).toBeLessThan(1 + tolerance)
  expect(last?.['read']).toBeLessThan(2 + tolerance)
  expect(last?.['written']).toBeLessThan(1 + tolerance)
})
