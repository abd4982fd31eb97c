import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import { presentVideoTask } from './present-video.ts'
import { readStatus, type StatusDependencies } from './read-status.ts'

export const queryVideoTask =
  (dependencies: StatusDependencies): Handler<typeof operations.queryVideoTask> =>
  async (call) => {
    const { id } = call.query
    if (id === undefined) {
      throw new ApiError('missing_parameter', { param: 'id', message: "'id' is required." })
    }
    return readStatus(dependencies, call, id, presentVideoTask)
  }
