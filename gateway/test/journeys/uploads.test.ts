/** Many large images at once are streamed through the API process without being held in memory. */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'

import { expect, test } from 'vitest'

import { ask, askJson, form, pixelBytes, type Answer } from '../kit/answers.ts'
import { isLongForm } from '../kit/long-form.ts'
import { peakDuring, residentMib } from '../kit/resident-memory.ts'
import { manyUploads, startStack } from '../kit/stack.ts'

const mebibyte = 1_048_576
const concurrency = isLongForm ? 50 : 10
const growthMibMax = 150

/** The first bytes of an image, padded to the maximum size. */
const image = Buffer.concat([pixelBytes, randomBytes(20 * mebibyte - pixelBytes.length)])

test(`${concurrency} concurrent requests with images of 20 MB, by form and by URL, need at most 150 MiB`, async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': String(image.length) })
    Readable.from(
      (function* () {
        for (let start = 0; start < image.length; start += 65_536) {
          yield image.subarray(start, start + 65_536)
        }
      })(),
    ).pipe(response)
  })
  await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  // Only uploads are measured, so there is no worker that submits jobs.
  await using stack = await startStack({
    workers: 0,
    environment: { FETCH_ALLOW_ORIGINS: origin, ...manyUploads },
  })
  const { url, key } = stack
  const many = (create: () => Promise<Answer>) => () =>
    Promise.all(Array.from({ length: concurrency }, create))
  const blob = new Blob([image], { type: 'image/png' })
  const byForm = () =>
    ask(`${url}/v1/videos`, key, {
      method: 'POST',
      body: form({
        ...{ model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '480x480' },
        input_reference: blob,
      }),
    })
  const byUrl = () =>
    askJson(`${url}/v1/video/create`, key, {
      ...{ model: 'vidB-2', prompt: 'A whale', images: [`${origin}/image.png`] },
    })
  for (const [name, create] of [
    ['by form', byForm],
    ['by URL', byUrl],
  ] as const) {
    // A new process for each measurement, so that memory of the first does not affect the second.
    await stack.api.stop()
    await stack.api.start()
    const pid = stack.api.pid() ?? 0
    const idleMib = await residentMib(pid)
    const { peakMib, result: answers } = await peakDuring(pid, many(create))
    for (const answer of answers) expect(answer).toMatchObject({ status: 200 })
    const growthMib = peakMib - idleMib
    console.log(
      `${concurrency} × 20 MB ${name}: ${idleMib.toFixed(0)} MiB idle, ${peakMib.toFixed(0)} MiB at most, ${growthMib.toFixed(0)} MiB more`,
    )
    expect(growthMib).toBeLessThan(growthMibMax)
  }
  await new Promise((resolve) => server.close(resolve))
})
