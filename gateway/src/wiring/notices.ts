/** What workers do for events and webhooks from time to time. */
import { sendDeprecationNotices, sendKeyNotices } from '../account/notices/send-notices.ts'
import type { Config } from '../config.ts'
import { renewGeneration } from '../event-feed/renew-generation.ts'
import type { Catalog } from '../models/catalog.ts'
import { everyTickMs, startPeriodicJobs } from '../platform/engine/periodic-jobs.ts'
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { endPending, findEndedEndpoints } from '../webhooks/deliveries/delivery-store.ts'
import { resealWebhookSecrets } from '../webhooks/signing/reseal-secrets.ts'
import { webhookSecretsOf } from './webhooks.ts'

const hourMs = 3_600_000
/** The guide to rotations says when it has happened. */
const resealEveryMs = 6 * hourMs

export const startNotices = ({
  config,
  postgres,
  catalog,
  log,
}: {
  config: Config
  postgres: Postgres
  catalog: Catalog
  log: Log
}): { stop: () => Promise<void> } => {
  const secrets = webhookSecretsOf(config)
  const notices = { database: postgres, log, models: catalog.available }
  return startPeriodicJobs({ postgres, log }, 'notices', [
    { name: 'keys', everyMs: everyTickMs, run: () => sendKeyNotices(notices) },
    { name: 'models', everyMs: hourMs, run: (stopping) => sendDeprecationNotices(notices, stopping) },
    {
      // A database that was promoted while this worker was running.
      name: 'generation',
      everyMs: everyTickMs,
      run: () => renewGeneration(postgres, log),
    },
    {
      // After a change by a customer, an event may have been committed late, or there were too many for one request.
      name: 'ended-endpoints',
      everyMs: everyTickMs,
      run: async (stopping) => {
        for (const endpointId of await findEndedEndpoints(postgres)) {
          if (!stopping.aborted) await endPending(postgres, endpointId)
        }
      },
    },
    {
      name: 'webhook-secrets',
      everyMs: resealEveryMs,
      run: async (stopping) => {
        await resealWebhookSecrets({ database: postgres, secrets, log }, stopping)
      },
    },
  ])
}
