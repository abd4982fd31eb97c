/** A process that calls a server without a free file descriptor, and sends its parent the failure. */
import { closeSync, openSync } from 'node:fs'

import { jsonBody } from '../../src/providers/kit/http/multipart.ts'
import { upstreamAt } from '../../src/providers/kit/http/upstream-http.ts'
import type { ProviderFailure } from '../../src/providers/port/failure.ts'

const upstream = upstreamAt({ baseUrl: process.argv[2] ?? '' })
const open: number[] = []
try {
  for (;;) open.push(openSync('/dev/null', 'r'))
} catch {
  // Every descriptor is in use.
}
const failure = await upstream
  .callJson({
    what: 'submit',
    method: 'POST',
    path: '/v1/videos',
    body: jsonBody({}),
    signal: AbortSignal.timeout(120_000),
  })
  .then(
    () => undefined,
    (error: unknown) => error as ProviderFailure,
  )
for (const descriptor of open) closeSync(descriptor)
process.send?.({ kind: failure?.kind, message: failure?.message, isLocal: failure?.isLocal })
process.disconnect()
