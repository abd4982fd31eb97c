import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'

import type { Database, Postgres } from '../../platform/postgres.ts'
import {
  findProviderRecord,
  deleteProviderRecord,
  listModelRecords,
  lockProviderConfig,
  removeProviderRecord,
} from '../../provider-config/provider-config-store.ts'
import { routedProviders } from '../../provider-config/route-config.ts'
import type { AdminHandler } from '../admin-call.ts'
import { presentProviderConfig } from './present-provider.ts'
import { readProviderLoads } from './provider-load-store.ts'
import { noProvider, type ProviderDependencies } from './view-providers.ts'

/** A route to a missing provider would be ignored, and its tasks would use other routes unexpectedly. */
const assertNotRouted = async (database: Database, name: string) => {
  const models = Object.entries(await listModelRecords(database)).flatMap(([model, entry]) =>
    routedProviders(entry).includes(name) ? model : [],
  )
  if (models.length === 0) return
  throw new ApiError('conflict', {
    message: `The routes of ${models.join(', ')} use this provider. Remove it from them first, with PUT /admin/v1/models/{id}/routes.`,
  })
}

export const deleteProvider =
  ({
    postgres,
    liveConfig,
    parseConfig,
  }: ProviderDependencies & { postgres: Postgres }): AdminHandler<typeof adminOperations.deleteProvider> =>
  async (call) => {
    const name = call.path.name
    const isOfFile = liveConfig.fileConfig().providers.some((each) => each.name === name)
    const openTasks = await postgres.transaction(async (database) => {
      await lockProviderConfig(database)
      const record = await findProviderRecord(database, name)
      if (record === undefined && isOfFile) {
        throw new ApiError('conflict', {
          message: `The provider '${name}' is defined in the configuration file. Remove it from PROVIDERS_FILE, or disable it: PUT /admin/v1/providers/${name} with "enabled": false.`,
        })
      }
      if (record === undefined || record.removedAt !== null) throw noProvider()
      if (isOfFile) await deleteProviderRecord(database, name)
      else {
        await assertNotRouted(database, name)
        await removeProviderRecord(database, name)
      }
      const load = (await readProviderLoads(database)).get(name)
      const { config } = parseConfig(name, record.config)
      await call.audit(database, {
        action: 'deleteProvider',
        target: name,
        before: config === undefined ? record.config : presentProviderConfig(config, record.credentialHint),
      })
      return (load?.inFlight ?? 0) + (load?.waiting ?? 0)
    })
    await liveConfig.refresh()
    return { body: { name, deleted: true, is_of_file: isOfFile, open_tasks: openTasks } }
  }
