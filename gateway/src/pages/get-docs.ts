import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import { createFixedResponse, type FixedResponse } from '../platform/fixed-response.ts'
import { prefersPage } from '../platform/text/prefers-page.ts'
import type { DocsFiles } from './docs-files.ts'
import { docsPage } from './docs-page.ts'

const createPage = (publicUrl: string, { entryPath }: DocsFiles): FixedResponse => {
  const { html, policy } = docsPage(publicUrl, entryPath)
  return createFixedResponse(html, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'public, max-age=60',
    'content-security-policy': policy,
    'referrer-policy': 'no-referrer',
  })
}

/** Browsers get the page, other clients the OpenAPI document. */
export const getDocs = (
  publicUrl: string,
  files: DocsFiles | undefined,
  document: FixedResponse,
): Handler<typeof operations.getDocs> => {
  const page = files === undefined ? document : createPage(publicUrl, files)
  return async ({ header }) => (prefersPage(header('accept')) ? page(header) : document(header))
}
