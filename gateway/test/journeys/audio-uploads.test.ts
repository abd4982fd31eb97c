/** Large recordings, many at once: they pass through the API's process without being held in it. */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import { expect, test } from 'vitest'

import { ask, type Answer } from '../kit/answers.ts'
import { audioForm, waveOf } from '../kit/sound.ts'
import { startStack } from '../kit/stack.ts'

const together = 100
const raiseMibMax = 150
const fileBytesMax = 26_214_400

const residentMib = async (pid: number) => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}

/** The most that the process had resident while the work went on. */
const peakDuring = async (pid: number, work: () => Promise<Answer[]>) => {
  let peakMib = 0
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      peakMib = Math.max(peakMib, await residentMib(pid))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  const answers = await work().finally(() => {
    isOver = true
  })
  await watching
  return { peakMib, answers }
}

test('a hundred recordings of 25 MB at once stay within 150 MiB', async () => {
  await using stack = await startStack({ workers: 0 })
  const body = audioForm(waveOf(randomBytes(fileBytesMax - 44)), { model: 'asr-1' })
  const transcribe = () => ask(`${stack.url}/v1/audio/transcriptions`, stack.key, { method: 'POST', body })
  const pid = stack.api.pid() ?? 0
  const idleMib = await residentMib(pid)
  const startedMs = performance.now()
  const { peakMib, answers } = await peakDuring(pid, () =>
    Promise.all(Array.from({ length: together }, transcribe)),
  )
  const seconds = (performance.now() - startedMs) / 1000
  for (const answer of answers) {
    expect(answer.body).toEqual({ text: `vendor transcript of ${fileBytesMax} bytes` })
  }
  const raiseMib = peakMib - idleMib
  console.log(
    `${together} × 25 MB in ${seconds.toFixed(1)} s: ${idleMib.toFixed(0)} MiB idle, ${peakMib.toFixed(0)} MiB at most, ${raiseMib.toFixed(0)} MiB more`,
  )
  expect(raiseMib).toBeLessThan(raiseMibMax)
})
