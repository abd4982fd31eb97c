/** Records what the built-in provider does. */
import { measure, observe } from '@kinora/gateway/record-metrics'
import type { LocalProviderOptions } from '@kinora/local/server'

export const localObserver: NonNullable<LocalProviderOptions['observer']> = {
  requestEnded: (endpoint, status, ms) =>
    measure('kinora.local.request.duration', ms / 1000, {
      endpoint,
      'http.response.status_code': String(status),
    }),
  renderEnded: (outcome, ms) => measure('kinora.local.render.duration', ms / 1000, { outcome }),
  renders: (read) => {
    observe('kinora.local.renders', () => {
      const { running, waiting } = read()
      return [
        [running, { state: 'running' }],
        [waiting, { state: 'waiting' }],
      ]
    })
  },
}
