import type { IncomingMessage, ServerResponse } from 'node:http'

import type { JobStore } from './job.ts'

/** A vendor protocol. All protocols share one job store, which decides about jobs; a protocol only formats them. */
interface Protocol {
  /** The provider kind that uses it. */
  kind: string
  /** Whether a request belongs to this protocol; the first match responds. */
  accepts: (method: string, url: URL) => boolean
  answer: (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>
}

export type CreateProtocol = (store: JobStore) => Protocol
