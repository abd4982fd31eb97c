import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import { presentVideo } from './present-video.ts'
import { readStatus, type StatusDependencies } from './read-status.ts'

export const getVideo =
  (dependencies: StatusDependencies): Handler<typeof operations.getVideo> =>
  (call) =>
    readStatus(dependencies, call, call.path.id, presentVideo)
