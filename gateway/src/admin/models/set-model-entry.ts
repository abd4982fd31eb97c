import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'
import { ModelBody } from '@kinora/contract/operations/admin/models'

import type { Postgres } from '../../platform/postgres.ts'
import { problemsBetween } from '../../provider-config/parse-models.ts'
import {
  findModelRecord,
  lockProviderConfig,
  writeModelRecord,
} from '../../provider-config/provider-config-store.ts'
import { isMapping, type RawConfig } from '../../provider-config/validate-config.ts'
import type { AdminHandler } from '../admin-call.ts'
import { camelCase } from '../settings/setting-names.ts'
import { parseRecord, refuseModel, renameSettings, viewModel, type ModelDependencies } from './view-models.ts'

/** The settings as in the providers file. */
const readSettings = (given: unknown): RawConfig => {
  if (!isMapping(given)) {
    throw new ApiError('invalid_parameter', { param: 'settings', message: "'settings' must be an object." })
  }
  const present = Object.entries(given).filter(([, value]) => value !== null)
  return renameSettings(Object.fromEntries(present), camelCase)
}

const aliasMessage = (id: string, owner: string) =>
  `cannot be ${id}, because that is an alias of ${owner}: choose another id, or remove the alias`

export const setModelEntry =
  (
    dependencies: ModelDependencies & { postgres: Postgres },
  ): AdminHandler<typeof adminOperations.setModelEntry> =>
  async (call) => {
    const { postgres, liveConfig } = dependencies
    const { id } = call.path
    call.read(ModelBody)
    const given = readSettings(call.fields.value('settings'))
    await liveConfig.refresh()
    await postgres.transaction(async (database) => {
      await lockProviderConfig(database)
      const earlier = await findModelRecord(database, id)
      const record = { ...(earlier?.['routes'] !== undefined && { routes: earlier['routes'] }), ...given }
      const { config, problems } = parseRecord(dependencies, id, record)
      if (config === undefined) throw refuseModel(problems)
      const { [id]: _, ...others } = liveConfig.current().models
      // This model is the last one, so a problem of another one is about the id of this one.
      const shared = problemsBetween(
        [...Object.values(others), config],
        new Set([...Object.keys(others), id]),
      )
      if (shared.length > 0) {
        throw refuseModel(
          shared.map(({ path: [owner, ...path], message }) =>
            owner === id ? { path, message } : { path: [], message: aliasMessage(id, String(owner)) },
          ),
        )
      }
      await writeModelRecord(database, id, record)
      await call.audit(database, { action: 'setModelEntry', target: id, before: earlier, after: record })
    })
    return { body: await viewModel(postgres, id, dependencies) }
  }
