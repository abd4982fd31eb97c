/** `@kinora/client` in any runtime: a file that Node, Bun, Deno and a page run as it is bundled. */
import { isKinoraError, Kinora } from '../../client/src/index.ts'
import type { ListedBehaviour } from './behaviour.ts'

const demand = (holds: boolean, otherwise: string) => {
  if (!holds) throw new Error(otherwise)
}

const order = { model: 'vidB-2', prompt: 'A lighthouse at dusk', seconds: 4, size: '480x480' } as const
const openClient = (baseUrl: string, apiKey: string) => new Kinora({ baseUrl, apiKey })

/** The four characters after the size of the first box of an MP4. */
const isMp4 = (bytes: Uint8Array) => new TextDecoder().decode(bytes.slice(4, 8)) === 'ftyp'

export const kinoraBehaviours: ListedBehaviour[] = [
  {
    name: 'videos.run reports progress and returns a file',
    calls: ['videos.run'],
    result: 'works',
    run: async (baseUrl, key) => {
      const states: string[] = []
      const kinora = openClient(baseUrl, key)
      const video = await kinora.videos.run({ ...order, onProgress: ({ status }) => states.push(status) })
      demand(states[0] === 'pending' && states.at(-1) === 'completed', `the states were ${states.join(', ')}`)
      demand(isMp4(new Uint8Array(await (await video.blob()).arrayBuffer())), 'the file is not an MP4')
      const response = await fetch(video.url)
      demand(response.ok, `the link responds with ${response.status}`)
      await response.body?.cancel()
    },
  },
  {
    name: 'videos.list is an iterator over pages',
    calls: ['videos.create', 'videos.cancel', 'videos.list'],
    result: 'works',
    run: async (baseUrl, key) => {
      const kinora = openClient(baseUrl, key)
      const made = [await kinora.videos.create(order), await kinora.videos.create(order)]
      for (const { id } of made) await kinora.videos.cancel(id)
      const listed: string[] = []
      for await (const { id } of kinora.videos.list({ limit: 1 })) listed.push(id)
      demand(
        made.every(({ id }) => listed.includes(id)),
        'a video is missing',
      )
    },
  },
  {
    name: 'speech.create streams audio',
    calls: ['speech.create'],
    result: 'works',
    run: async (baseUrl, key) => {
      const kinora = openClient(baseUrl, key)
      const speech = await kinora.speech.create({
        ...{ model: 'chat-4o-mini-tts-2025-12-15', voice: 'nova', input: 'Yes.', response_format: 'wav' },
      })
      demand(speech.contentType.startsWith('audio/'), `the content type is ${speech.contentType}`)
      demand((await speech.bytes()).length > 1000, 'the audio is too short')
    },
  },
  {
    name: 'an image is uploaded as a stream',
    calls: ['videos.create'],
    result: 'works',
    run: async (baseUrl, key) => {
      const base64 =
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
      const image = new Blob([Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0)])
      const kinora = openClient(baseUrl, key)
      const quote = await kinora.videos.create({ ...order, input_reference: image.stream(), dry_run: true })
      demand(quote.object === 'quote', `the response is ${JSON.stringify(quote)}`)
    },
  },
  {
    name: 'an error has its code, parameter and request id',
    calls: ['videos.create'],
    result: 'works',
    run: async (baseUrl, key) => {
      const seconds = 11 as 4
      const error: unknown = await openClient(baseUrl, key)
        .videos.create({ ...order, seconds })
        .catch((caught: unknown) => caught)
      demand(isKinoraError(error, 'invalid_parameter'), String(error))
      demand(
        isKinoraError(error) && error.param === 'seconds' && error.requestId !== undefined,
        String(error),
      )
    },
  },
  {
    name: 'a signal stops following a video',
    calls: ['videos.run'],
    result: 'works',
    run: async (baseUrl, key) => {
      const kinora = openClient(baseUrl, key)
      const stop = new AbortController()
      const run = kinora.videos.run({ ...order, signal: stop.signal, onProgress: () => stop.abort('enough') })
      const reason: unknown = await run.catch((caught: unknown) => caught)
      demand(reason === 'enough', String(reason))
    },
  },
]
