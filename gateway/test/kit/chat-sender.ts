/** Sends large chat requests concurrently from a worker thread, so that they do not disturb measurements in the main one. */
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'

import { waveOf } from './sound.ts'

export interface ChatLoad {
  url: string
  key: string
  count: number
  /** The size of the recording before base64 encoding. */
  sizeBytes: number
}

export interface SentChat {
  status: number | undefined
  text: string
}

// Lowers the priority of this thread only, so that it does not compete with the measured code.
setPriority(0, constants.priority.PRIORITY_LOW)

const { url, key, count, sizeBytes } = workerData as ChatLoad

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

// Random data cannot be compressed.
const data = Buffer.from(waveOf(randomBytes(sizeBytes - 44)).toString('base64'))
const head = `{"model":"chat-4o-audio-preview","messages":[{"role":"user","content":[{"type":"text","text":"Listen"},{"type":"input_audio","input_audio":{"format":"wav","data":"`
const sent = await Promise.all(Array.from({ length: count }, () => send(head, data, '"}}]}]}')))
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(sent)
