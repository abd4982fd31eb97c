import { parseArgs } from 'node:util'

import { startVendor } from './vendor.ts'

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '9300' },
    'duration-ms': { type: 'string', default: '300' },
    'api-key': { type: 'string' },
    'ignore-idempotency-key': { type: 'boolean', default: false },
    'distinct-videos': { type: 'boolean', default: false },
    videos: { type: 'string' },
  },
})

const vendor = await startVendor({
  host: values.host,
  port: Number(values.port),
  durationMs: Number(values['duration-ms']),
  honoursIdempotencyKey: !values['ignore-idempotency-key'],
  hasDistinctVideos: values['distinct-videos'],
  videoDirectory: values.videos,
  ...(values['api-key'] === undefined ? {} : { apiKey: values['api-key'] }),
})
process.stdout.write(`${JSON.stringify({ ready: true, url: vendor.url, pid: process.pid })}\n`)

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void vendor.close())
