import type { CreateProtocol } from './protocol.ts'
import { createReplicateProtocol } from './replicate-protocol.ts'

const kind = 'ai-sdk'
const prefix = '/ai-sdk'

/** What a package for the AI SDK finds at the other end: the predictions protocol, under a path of its own. */
export const createAiSdkProtocol: CreateProtocol = (book) => {
  const spoken = createReplicateProtocol({
    ...book,
    url: () => `${book.url()}${prefix}`,
    submit: (request, response, order, refuse) => book.submit(request, response, { ...order, kind }, refuse),
  })
  const within = (url: URL) => new URL(url.pathname.slice(prefix.length) + url.search, url)
  return {
    kind,
    takes: (method, url) => url.pathname.startsWith(`${prefix}/`) && spoken.takes(method, within(url)),
    answer: (request, response, url) => spoken.answer(request, response, within(url)),
  }
}
