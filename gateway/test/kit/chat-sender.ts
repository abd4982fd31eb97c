/** Sends large conversations at the same time, from a thread of its own so that whoever measures is not kept waiting. */
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'

import { waveOf } from './sound.ts'

export interface ChatOrder {
  url: string
  key: string
  count: number
  /** Of the recording, before it is base64. */
  sizeBytes: number
}

export interface SentChat {
  status: number | undefined
  text: string
}

// Only this thread: what sends must not take the processor from what is measured.
setPriority(0, constants.priority.PRIORITY_LOW)

const { url, key, count, sizeBytes } = workerData as ChatOrder

const send = (head: string, data: Buffer, tail: string): Promise<SentChat> =>
  new Promise((resolve, reject) => {
    const sending = request(`${url}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(head) + data.length + Buffer.byteLength(tail),
      },
    })
    sending.on('error', reject).on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => (text += String(part)))
      response.on('end', () => resolve({ status: response.statusCode, text }))
    })
    sending.write(head)
    sending.write(data)
    sending.end(tail)
  })

// Noise, so that nothing on the way can make it small.
const data = Buffer.from(waveOf(randomBytes(sizeBytes - 44)).toString('base64'))
const head = `{"model":"chat-4o-audio-preview","messages":[{"role":"user","content":[{"type":"text","text":"Listen"},{"type":"input_audio","input_audio":{"format":"wav","data":"`
const sent = await Promise.all(Array.from({ length: count }, () => send(head, data, '"}}]}]}')))
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(sent)
