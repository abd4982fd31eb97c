import type { adminOperations } from '@kinora/contract/admin-operations'
import { ApiError } from '@kinora/contract/errors'

import type { Postgres } from '../../platform/postgres.ts'
import {
  countOpenTasks,
  findModelRecord,
  lockProviderConfig,
  removeModelRecord,
} from '../../provider-config/provider-config-store.ts'
import type { AdminHandler } from '../admin-call.ts'
import { noModel, sourceWithoutRecord, type ModelDependencies } from './view-models.ts'

const conflict = (message: string) => new ApiError('conflict', { message })

export const deleteModelEntry =
  (
    dependencies: ModelDependencies & { postgres: Postgres },
  ): AdminHandler<typeof adminOperations.deleteModelEntry> =>
  async (call) => {
    const { postgres, liveConfig } = dependencies
    const { id } = call.path
    await liveConfig.refresh()
    const source = sourceWithoutRecord(dependencies, id)
    await postgres.transaction(async (database) => {
      await lockProviderConfig(database)
      const record = await findModelRecord(database, id)
      if (record === undefined && source === undefined) throw noModel(id)
      if (record === undefined) {
        throw conflict(
          `The admin API has set nothing for ${id}. To stop serving it, PUT /admin/v1/models/${id} with "state": "retired".`,
        )
      }
      if (source === undefined) {
        const predecessors = Object.values(liveConfig.current().models).filter(
          ({ successor }) => successor === id,
        )
        if (predecessors.length > 0) {
          throw conflict(
            `${id} is the successor of ${predecessors.map((each) => each.id).join(', ')}. Set another successor there first.`,
          )
        }
        const openTasks = await countOpenTasks(database, id)
        if (openTasks > 0) {
          throw conflict(
            `${openTasks === 1 ? '1 task' : `${openTasks} tasks`} of ${id} ${openTasks === 1 ? 'has' : 'have'} not ended. Retire it with "state": "retired", and delete it later.`,
          )
        }
      }
      await removeModelRecord(database, id)
      await call.audit(database, { action: 'deleteModelEntry', target: id, before: record })
    })
    await liveConfig.refresh()
    return { body: { id, deleted: true, source: source ?? null } }
  }
