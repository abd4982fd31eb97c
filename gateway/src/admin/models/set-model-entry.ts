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
import { parseRecord, refuseModel, viewModel, type ModelDependencies } from './view-models.ts'

/** The settings as in the providers file. */
const readSettings = (given: unknown): RawConfig => {
  if (!isMapping(given)) {
    throw new ApiError('invalid_parameter', { param: 'settings', message: "'settings' must be an object." })
  }
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === null ? [] : [[camelCase(name), value]])),
  )
}

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
      const models = { ...liveConfig.current().models, [id]: config }
      const shared = problemsBetween(Object.values(models), new Set(Object.keys(models)))
      if (shared.length > 0)
        throw refuseModel(shared.map(({ path: [, ...path], message }) => ({ path, message })))
      await writeModelRecord(database, id, record)
      await call.audit(database, { action: 'setModelEntry', target: id, before: earlier, after: record })
    })
    return { body: await viewModel(postgres, id, dependencies) }
  }
