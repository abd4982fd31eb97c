/** More creates than the API can commit, from several accounts that can pay for them and have no rate limits. */
import type { Socket } from 'node:net'

import type { Environment } from '../../src/config.ts'
import { head, paced } from './client.ts'
import type { Attack } from './target.ts'

export const withoutRateLimits: Environment = { LIMIT_ADDRESS_PER_3_MINUTES: '0' }

const perSecond = 1_000
const connections = 300
/** Fewer than the API accepts on one connection. */
const perConnection = 900
const body = Buffer.from(JSON.stringify({ model: 'vidB-2', prompt: 'A flood', seconds: 4, size: '480x480' }))

interface Connection {
  socket: Socket
  isBusy: boolean
  sent: number
}

export const overload: Attack = async ({ floods }) => {
  const requests = floods.map((key) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    return Buffer.concat([head('POST', '/v1/videos', key, headers), body])
  })
  return async (client, signal) => {
    const open: Connection[] = []
    const connect = (): Connection => {
      const connection: Connection = {
        isBusy: false,
        sent: 0,
        socket: client.open(() => {
          connection.isBusy = false
        }),
      }
      return connection
    }
    await paced(signal, { perSecond, atOnceMax: Infinity }, async (index) => {
      const place = index % connections
      let connection = open[place]
      if (connection?.isBusy === true && connection.socket.writable) return
      if (connection === undefined || !connection.socket.writable || connection.sent >= perConnection) {
        connection?.socket.end()
        connection = connect()
        open[place] = connection
      }
      connection.isBusy = true
      connection.sent += 1
      connection.socket.write(requests[index % requests.length] as Buffer)
    })
  }
}
