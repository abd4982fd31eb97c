import type { CreateProtocol } from './protocol.ts'
import { createReplicateProtocol } from './replicate-protocol.ts'

const kind = 'ai-sdk'
const prefix = '/ai-sdk'

/** The vendor behind a package of the AI SDK: the predictions protocol under its own path. */
export const createAiSdkProtocol: CreateProtocol = (store) => {
  const protocol = createReplicateProtocol({
    ...store,
    url: () => `${store.url()}${prefix}`,
    submit: (request, response, order, refuse) => store.submit(request, response, { ...order, kind }, refuse),
  })
  const within = (url: URL) => new URL(url.pathname.slice(prefix.length) + url.search, url)
  return {
    kind,
    accepts: (method, url) => url.pathname.startsWith(`${prefix}/`) && protocol.accepts(method, within(url)),
    answer: (request, response, url) => protocol.answer(request, response, within(url)),
  }
}
