import { ApiError } from '@kinora/contract/errors'

import type { Caller } from '../auth/caller.ts'
import type { ModelConfig } from './model.ts'

type Restricted = Pick<Caller, 'models'>

/** A key for a model may use it under every name; a key for an alias, under that name only. */
export const mayUseModel = (
  { models }: Restricted,
  { id, name }: Pick<ModelConfig, 'id' | 'name'>,
): boolean => models === undefined || models.includes(name) || models.includes(id)

export const mayUseUnderSomeName = (caller: Restricted, model: ModelConfig): boolean =>
  mayUseModel(caller, model) || Object.keys(model.aliases).some((alias) => caller.models?.includes(alias))

export const assertMayUseModel = (caller: Restricted, model: Pick<ModelConfig, 'id' | 'name'>): void => {
  if (!mayUseModel(caller, model)) {
    throw new ApiError('model_access_denied', {
      param: 'model',
      message: `This key is not allowed to use '${model.name}'.`,
    })
  }
}
