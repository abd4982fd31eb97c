/** The metrics of a pool of connections. */
import { isMeasured, measure, observe, secondsSince } from './metrics.ts'

type Done = (error: Error | undefined, ...rest: never[]) => void

interface Pool {
  totalCount: number
  idleCount: number
  waitingCount: number
}

interface Connecting {
  connect: (done?: Done) => unknown
}

/** Observes a pool until the returned function is called. Every query of a pool calls its `connect`, which is replaced here. */
export const observePool = (pool: Pool): (() => void) => {
  const connecting = pool as Pool & Connecting
  const connect = connecting.connect.bind(pool)
  connecting.connect = (done) => {
    if (!isMeasured()) return connect(done)
    const startedMs = performance.now()
    const end = () => measure('db.client.connection.wait_time', secondsSince(startedMs), {})
    if (done === undefined) return (connect() as Promise<unknown>).finally(end)
    return connect((...outcome) => {
      end()
      done(...outcome)
    })
  }
  const stops = [
    observe('db.client.connection.count', () => [
      [pool.idleCount, { 'db.client.connection.state': 'idle' }],
      [pool.totalCount - pool.idleCount, { 'db.client.connection.state': 'used' }],
    ]),
    observe('db.client.connection.pending_requests', () => [[pool.waitingCount, {}]]),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}
