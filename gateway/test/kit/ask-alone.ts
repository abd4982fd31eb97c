/** Like `ask`, but with its own connection, which is closed and not replaced when the signal aborts. */
import { request } from 'node:http'

import type { Answer } from './answers.ts'

export const askAlone = async (url: string, key: string, init: RequestInit = {}): Promise<Answer> => {
  const { signal, ...sent } = init
  const message = new Request(url, sent)
  const body = Buffer.from(await message.arrayBuffer())
  const headers = { ...Object.fromEntries(message.headers), authorization: `Bearer ${key}` }
  return new Promise((resolve, reject) => {
    const options = { method: message.method, headers, agent: false, ...(signal != null && { signal }) }
    const asking = request(url, options, (response) => {
      const chunks: Buffer[] = []
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('error', reject)
        .on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const isJson = response.headers['content-type']?.startsWith('application/json') === true
          resolve({
            status: response.statusCode ?? 0,
            headers: new Headers(response.headers as Record<string, string>),
            body: isJson ? (JSON.parse(text) as Answer['body']) : {},
          })
        })
    })
    asking.on('error', reject).end(body)
  })
}
