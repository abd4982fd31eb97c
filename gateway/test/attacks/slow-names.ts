/** Quotes with image URLs whose names never get a response from DNS, as many at once as the limits of two keys allow. */
import { randomUUID } from 'node:crypto'

import { burst, head, paced } from './client.ts'
import type { Attack } from './target.ts'

/** The test's DNS server ignores the names below it. */
export const slowDomain = 'slow.example'
const createsPerMinute = 60

export const slowNames: Attack = async ({ keys }) => {
  const quote = (key: string) => {
    const image = `http://${randomUUID()}.${slowDomain}/image.png`
    const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480', input_reference: image }
    const body = Buffer.from(JSON.stringify(order))
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    return [head('POST', '/v1/videos?dry_run=true', key, headers), body]
  }
  return async (client, signal) => {
    const send = async (key: string) => {
      await burst(signal, { count: createsPerMinute, atOnce: createsPerMinute }, () =>
        client.exchange(quote(key)),
      )
      await paced(signal, { perSecond: createsPerMinute / 60 }, () => client.exchange(quote(key)))
    }
    await Promise.all([send(keys.poor), send(keys.funded)])
  }
}
