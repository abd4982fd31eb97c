/** How the list and the gallery scroll through 10,000 tasks. */
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'

import { openAdmin } from '../kit/clients.ts'
import { expectClean, getSeed, openConsole } from '../kit/console.ts'
import { signIn } from '../kit/open-page.ts'
import { addManyTasks } from './many-tasks.ts'

const count = 10_000
const pixelsPerFrame = 240
const scrollMsMax = 300_000
const elementsMax = 5_000
const frameMsMax = 100
const heapBytesMax = 150_000_000

let key: string

beforeAll(async () => {
  const admin = await openAdmin()
  const account = await admin.accounts.create({ name: 'Ten thousand' })
  const created = await admin.keys.create(account.id, {
    ...{ kind: 'payg', name: 'First', scopes: ['create', 'read', 'account'] },
  })
  key = created.secret
  await addManyTasks(await getSeed(), { accountId: account.id, keyId: created.key.id }, count)
})

/** Scrolls by the same distance at each frame, down to the last task or up to the first one. */
const scroll = async (page: Page, step: number) => {
  const { times, tasks, elements, waitedMs } = await page.evaluate(
    async ([distance, limit, total]) => {
      const browser = globalThis as unknown as {
        scrollY: number
        scrollBy: (x: number, y: number) => void
        requestAnimationFrame: (call: (at: number) => void) => void
        document: {
          getElementsByTagName: (name: string) => { length: number }
          querySelectorAll: (query: string) => Iterable<{ dataset: { task: string } }>
        }
      }
      const nextFrame = () => new Promise<number>((resolve) => browser.requestAnimationFrame(resolve))
      const all = browser.document.getElementsByTagName('*')
      const times: number[] = []
      const tasks = new Set<number>()
      const last = distance > 0 ? total - 1 : 0
      let elements = 0
      let waitedMs = 0
      let before = await nextFrame()
      for (const until = before + limit; before < until && !tasks.has(last);) {
        const from = browser.scrollY
        browser.scrollBy(0, distance)
        const at = await nextFrame()
        // The next page is on its way.
        if (browser.scrollY === from) waitedMs += at - before
        else times.push(at - before)
        before = at
        elements = Math.max(elements, all.length)
        for (const { dataset } of browser.document.querySelectorAll('[data-task]'))
          tasks.add(Number(dataset.task))
      }
      return { times, tasks: tasks.size, elements, waitedMs: Math.round(waitedMs) }
    },
    [step, scrollMsMax, count] as const,
  )
  const sorted = times.toSorted((one, other) => one - other)
  const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN)
  return {
    ...{ tasks, frames: times.length, waitedMs, elements },
    ...{ medianMs: at(0.5), p95Ms: at(0.95), longestMs: at(1) },
  }
}

const measureHeap = async (page: Page): Promise<number> => {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  return usedSize
}

test.each(['list', 'gallery'])('the %s scrolls without long frames, with few elements', async (view) => {
  const { url } = await getSeed()
  const page = await openConsole({ as: 'nobody', path: '/sign-in' })
  await signIn(page.context(), url, [key])
  await page.goto(`${url}/console/tasks?view=${view}`)
  await page.locator('[data-task="0"]').waitFor()
  const down = await scroll(page, pixelsPerFrame)
  const up = await scroll(page, -pixelsPerFrame)
  const heapBytes = await measureHeap(page)
  console.log(`${view} of ${count} tasks:`, { down, up, heapBytes })
  for (const { tasks, p95Ms, elements } of [down, up]) {
    expect(tasks).toBeGreaterThan(count * 0.99)
    expect(p95Ms).toBeLessThan(frameMsMax)
    expect(elements).toBeLessThan(elementsMax)
  }
  expect(heapBytes).toBeLessThan(heapBytesMax)
  await expectClean(page)
})
