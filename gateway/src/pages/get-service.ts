import type { operations } from '@kinora/contract/operations'
import type { Service } from '@kinora/contract/operations/service'

import type { Handler } from '../http/call.ts'
import { prefersPage } from '../platform/text/prefers-page.ts'
import { version } from '../platform/version.ts'
import { freshSeconds, type CurrentStatus } from '../status/current-status.ts'
import { homePage, homePagePolicy } from './home-page.ts'
import type { PageUrls } from './page-urls.ts'

export interface ServiceDependencies {
  urls: PageUrls
  currentStatus: CurrentStatus
}

export const getService =
  ({ urls, currentStatus }: ServiceDependencies): Handler<typeof operations.getService> =>
  async (call) => {
    const { state } = await currentStatus()
    const service: Service = { object: 'service', name: 'Kinora', version, state, ...urls }
    const caching = { 'cache-control': `public, max-age=${freshSeconds}`, vary: 'accept' }
    if (!prefersPage(call.header('accept'))) return { headers: caching, body: service }
    return {
      headers: {
        ...caching,
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': homePagePolicy,
        'referrer-policy': 'no-referrer',
      },
      body: homePage(service),
    }
  }
