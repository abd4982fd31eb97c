import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import { llmsFullText } from './llms-text.ts'
import { createMarkdown } from './markdown-response.ts'
import type { PageUrls } from './page-urls.ts'

export const getLlmsFull = (urls: PageUrls): Handler<typeof operations.getLlmsFull> => {
  const respond = createMarkdown(() => llmsFullText(urls))
  return async ({ header }) => respond(header)
}
