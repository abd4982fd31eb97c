import type { IncomingMessage, ServerResponse } from 'node:http'

import type { JobBook } from './job-book.ts'

/**
 * One protocol as a vendor speaks it. All faces show the same jobs: what a job is and how it goes is decided in the job
 * book, and a face only says it in its own words.
 */
interface Protocol {
  /** The provider kind that speaks it. */
  kind: string
  /** Whether a request is for this face; the first that says so answers. */
  takes: (method: string, url: URL) => boolean
  answer: (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>
}

export type CreateProtocol = (book: JobBook) => Protocol
