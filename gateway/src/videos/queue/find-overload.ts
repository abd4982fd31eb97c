import type { ApiError } from '@kinora/contract/errors'

import type { Caller } from '../../auth/caller.ts'
import type { Catalog } from '../../models/catalog.ts'
import type { ModelConfig, VideoModel } from '../../models/model.ts'
import type { Router } from '../../routing/route.ts'
import type { AdmitVideo } from './admit-video.ts'

/** Models with the same queues wait for the same tasks. More than one is asked, because their durations can differ. */
const modelsPerQueue = 4

const isVideo = (model: ModelConfig): model is VideoModel => model.kind === 'video'

/** Refuses a create before its body, which names the model, if it would be refused for every model. */
export const createFindOverload = ({
  catalog,
  router,
  overloadOf,
}: {
  catalog: Catalog
  router: Pick<Router, 'routesOf'>
  overloadOf: AdmitVideo['overloadOf']
}) => {
  /** The queues in which a task of the model can wait. */
  const queuesOf = ({ id }: VideoModel): string =>
    JSON.stringify(
      router
        .routesOf(id, 'video')
        .map(({ provider, slots }) => [provider.name, slots < provider.slots ? id : null]),
    )

  const known = new Map<string, { served: ModelConfig[]; models: VideoModel[] }>()
  /** A few models of each queue, until the configuration changes. */
  const sampleOf = (path: string): VideoModel[] => {
    const served = catalog.servedBy(path)
    const sample = known.get(path)
    if (sample?.served === served) return sample.models
    const models = [...Map.groupBy(served.filter(isVideo), queuesOf).values()].flatMap((each) =>
      each.slice(0, modelsPerQueue),
    )
    known.set(path, { served, models })
    return models
  }

  const usableBy = ({ models }: Caller, path: string): VideoModel[] => {
    if (models === undefined) return sampleOf(path)
    return models
      .filter((name) => catalog.idOf(name) !== undefined)
      .map((name) => catalog.find(name))
      .filter(isVideo)
      .filter(({ endpoints }) => endpoints.includes(path))
  }

  return (path: string) =>
    (caller: Caller): ApiError | undefined => {
      let first: ApiError | undefined
      for (const model of usableBy(caller, path)) {
        const refusal = overloadOf(model, caller.accountId)
        if (refusal === undefined) return undefined
        first ??= refusal
      }
      return first
    }
}
