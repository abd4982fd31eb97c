/** Large forms: many large fields, unexpected files, uploads that slow down to a trickle. */
import { setTimeout as sleep } from 'node:timers/promises'

import { burst, formRequest, formType, head, paced, partHead, send } from './client.ts'
import type { Attack } from './target.ts'

const mebibyte = 1_048_576
/** The largest fields that fit into the 88 MiB and 100 fields of a form. */
const largeFields = 87
const createsPerMinute = 60
const audioPerMinute = 120
const trickling = 30

export const formFields: Attack = async ({ keys }) => {
  const field = Buffer.alloc(mebibyte - 256, 'a')
  const file = Buffer.alloc(19 * mebibyte, 1)
  const fields = Array.from({ length: largeFields }, (_, index) => [partHead(`field${index}`), field]).flat()
  const files = Array.from({ length: 4 }, (_, index) => [partHead(`unknown${index}`, 'a.bin'), file]).flat()
  const unknownFile = [partHead('unknown', 'a.bin'), Buffer.alloc(24 * mebibyte, 1)]
  const trickle = (key: string) => [
    head('POST', '/v1/videos', key, { 'content-type': formType, 'content-length': 80 * mebibyte }),
    partHead('input_reference', 'a.png'),
    Buffer.alloc(4 * mebibyte, 1),
  ]
  return async (client, signal) => {
    const slowly = async (key: string) => {
      const socket = client.open()
      await send(socket, trickle(key))
      while (!signal.aborted && socket.writable) {
        socket.write('a')
        await sleep(1_000, undefined, { signal }).catch(() => undefined)
      }
    }
    const { poor, funded } = keys
    await Promise.all([
      ...Array.from({ length: trickling }, () => slowly(funded)),
      burst(signal, { count: createsPerMinute, atOnce: 20 }, () =>
        client.exchange(formRequest('/v1/videos', poor, fields)),
      ),
      paced(signal, { perSecond: (createsPerMinute - trickling) / 60, atOnceMax: 10 }, () =>
        client.exchange(formRequest('/v1/videos', funded, files)),
      ),
      paced(signal, { perSecond: audioPerMinute / 60, atOnceMax: 10 }, () =>
        client.exchange(formRequest('/v1/audio/transcriptions', funded, unknownFile)),
      ),
      burst(signal, { count: audioPerMinute, atOnce: 10 }, () =>
        client.exchange(formRequest('/v1/audio/transcriptions', poor, unknownFile)),
      ),
    ])
  }
}
