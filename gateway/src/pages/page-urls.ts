import { operations } from '@kinora/contract/operations'
import type { Service } from '@kinora/contract/operations/service'

export type PageUrls = Omit<Service, 'object' | 'name' | 'version' | 'state'>

export const pageUrlsAt = (publicUrl: string, { hasConsole = false } = {}): PageUrls => ({
  base_url: publicUrl,
  openai_base_url: `${publicUrl}/openai/v1`,
  docs_url: publicUrl + operations.getDocs.path,
  openapi_url: publicUrl + operations.getOpenapi.path,
  llms_url: publicUrl + operations.getLlms.path,
  errors_url: publicUrl + operations.getErrorDocs.path,
  status_url: publicUrl + operations.getStatus.path,
  console_url: hasConsole ? `${publicUrl}/console` : null,
})
