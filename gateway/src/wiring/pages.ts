import { openapi } from '@kinora/contract/openapi'
import { operations } from '@kinora/contract/operations'

import type { Config } from '../config.ts'
import { errorPage } from '../http/error-page.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import { serveFiles } from '../http/server/serve-files.ts'
import { openDocsFiles } from '../pages/docs-files.ts'
import { getDocs } from '../pages/get-docs.ts'
import { getLlmsFull } from '../pages/get-llms-full.ts'
import { getLlms } from '../pages/get-llms.ts'
import { getService } from '../pages/get-service.ts'
import { pageUrlsAt } from '../pages/page-urls.ts'
import { createFixedResponse } from '../platform/fixed-response.ts'
import type { CurrentStatus } from '../status/current-status.ts'
import { getStatus } from '../status/get-status.ts'

/** What needs no key: the page at `/`, the API reference, texts for language models, and the status. */
export const bindPages = (
  server: ApiServer,
  { publicUrl, CONSOLE: hasConsole }: Config,
  currentStatus: CurrentStatus,
): void => {
  const urls = pageUrlsAt(publicUrl, { hasConsole })
  const document = createFixedResponse(JSON.stringify(openapi(publicUrl)), {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'public, max-age=60',
  })
  const files = openDocsFiles()
  if (files !== undefined) serveFiles(server.app, `${files.path}*`, { findFile: files.find })
  bindOperation(server, operations.getService, getService({ urls, currentStatus }))
  bindOperation(server, operations.getDocs, getDocs(publicUrl, files, document))
  bindOperation(server, operations.getOpenapi, async ({ header }) => document(header))
  bindOperation(server, operations.getLlms, getLlms(urls))
  bindOperation(server, operations.getLlmsFull, getLlmsFull(urls))
  bindOperation(server, operations.getErrorDocs, async () => errorPage)
  bindOperation(server, operations.getStatus, getStatus(currentStatus))
}
