/** A provider that speaks as many texts at once as the built-in one. A long text takes longer than an attack. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Environment } from '../../src/config.ts'

export interface SpeechProvider extends AsyncDisposable {
  environment: Environment
}

const textsMax = 8
const shortCharactersMax = 100
const contentTypes: Record<string, string> = { wav: 'audio/wav', mp3: 'audio/mpeg' }
const chunk = Buffer.alloc(64 * 1024, 1)
const chunkEveryMs = 50

export const startSpeechProvider = async (): Promise<SpeechProvider> => {
  let texts = 0
  const speak = async (request: IncomingMessage, response: ServerResponse) => {
    const { input, response_format: format } = JSON.parse(await text(request)) as Record<string, string>
    response.setHeader('content-type', contentTypes[format ?? ''] ?? 'audio/mpeg')
    response.write(chunk.subarray(0, 8_192))
    const isShort = (input ?? '').length <= shortCharactersMax
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    while (!isShort && !response.destroyed) {
      // It ends with an error when the client disconnects.
      if (!response.write(chunk)) await once(response, 'drain', { signal: gone.signal })
      await sleep(chunkEveryMs)
    }
    response.end()
  }
  const server = createServer((request, response) => {
    if (request.url !== '/v1/audio/speech') {
      response.writeHead(404).end()
      return
    }
    if (texts >= textsMax) {
      response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '5' })
      response.end(JSON.stringify({ error: { code: 'busy', message: 'Too many texts are being spoken.' } }))
      return
    }
    texts += 1
    response.once('close', () => {
      texts -= 1
    })
    speak(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    environment: { LOCAL_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
