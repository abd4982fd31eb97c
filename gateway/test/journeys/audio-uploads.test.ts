/** Many large recordings at once are streamed through the API process without being held in memory. */
import { randomBytes } from 'node:crypto'

import { expect, test } from 'vitest'

import { ask } from '../kit/answers.ts'
import { peakDuring, residentMib } from '../kit/resident-memory.ts'
import { audioForm, waveOf } from '../kit/sound.ts'
import { manyUploads, startStack } from '../kit/stack.ts'

const concurrency = Number(process.env['UPLOADS'] ?? 10)
const growthMibMax = 150
const fileBytesMax = 26_214_400

test(`${concurrency} concurrent recordings of 25 MB need at most 150 MiB`, async () => {
  await using stack = await startStack({ workers: 0, environment: manyUploads })
  const body = audioForm(waveOf(randomBytes(fileBytesMax - 44)), { model: 'asr-1' })
  const transcribe = () => ask(`${stack.url}/v1/audio/transcriptions`, stack.key, { method: 'POST', body })
  const pid = stack.api.pid() ?? 0
  const idleMib = await residentMib(pid)
  const startedMs = performance.now()
  const { peakMib, result: answers } = await peakDuring(pid, () =>
    Promise.all(Array.from({ length: concurrency }, transcribe)),
  )
  const seconds = (performance.now() - startedMs) / 1000
  for (const answer of answers) {
    expect(answer.body).toEqual({ text: `vendor transcript of ${fileBytesMax} bytes` })
  }
  const growthMib = peakMib - idleMib
  console.log(
    `${concurrency} × 25 MB in ${seconds.toFixed(1)} s: ${idleMib.toFixed(0)} MiB idle, ${peakMib.toFixed(0)} MiB at most, ${growthMib.toFixed(0)} MiB more`,
  )
  expect(growthMib).toBeLessThan(growthMibMax)
})
