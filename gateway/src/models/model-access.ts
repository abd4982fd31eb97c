import { ApiError } from '@kinora/contract/errors'

import type { Caller } from '../auth/caller.ts'

export const mayUseModel = (caller: Pick<Caller, 'models'>, model: string): boolean =>
  caller.models === undefined || caller.models.includes(model)

export const assertMayUseModel = (caller: Pick<Caller, 'models'>, model: string): void => {
  if (!mayUseModel(caller, model)) {
    throw new ApiError('model_access_denied', {
      param: 'model',
      message: `This key is not allowed to use '${model}'.`,
    })
  }
}
