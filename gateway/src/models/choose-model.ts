import { ApiError } from '@kinora/contract/errors'

import type { Caller } from '../auth/caller.ts'
import type { Catalog } from './catalog.ts'
import { assertMayUseModel } from './model-access.ts'
import type { ModelConfig, VideoModel } from './model.ts'

/** The name of a request's model: its id or an alias. The model must exist, and the caller must be allowed to use it. */
export const readModelName = (catalog: Catalog, caller: Caller, name: unknown): string => {
  if (name === undefined || (typeof name === 'string' && name.trim() === '')) {
    throw new ApiError('missing_parameter', { param: 'model', message: "'model' is required." })
  }
  if (typeof name !== 'string') {
    throw new ApiError('invalid_parameter', {
      param: 'model',
      message: "'model' must be text, such as vidB-2.",
    })
  }
  // An unknown model is 404 for every key, so this comes before the access check.
  assertMayUseModel(caller, catalog.find(name))
  return name
}

export const chooseModel = (catalog: Catalog, caller: Caller, name: unknown): ModelConfig =>
  catalog.find(readModelName(catalog, caller, name))

/** The model of an earlier task, under the name that the task has if there still is one. */
export const chooseModelOfTask = (
  catalog: Catalog,
  caller: Caller,
  { model, modelName }: { model: string; modelName: string },
): ModelConfig => chooseModel(catalog, caller, catalog.idOf(modelName) === model ? modelName : model)

/** Like `chooseModel`, for an endpoint that only serves video models. */
export const chooseVideoModel = (
  catalog: Catalog,
  caller: Caller,
  endpoint: string,
  name: unknown,
): VideoModel => catalog.videoModelFor(endpoint, readModelName(catalog, caller, name))
