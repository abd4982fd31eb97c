import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import { llmsText } from './llms-text.ts'
import { createMarkdown } from './markdown-response.ts'
import type { PageUrls } from './page-urls.ts'

export const getLlms = (urls: PageUrls): Handler<typeof operations.getLlms> => {
  const respond = createMarkdown(() => llmsText(urls))
  return async ({ header }) => respond(header)
}
