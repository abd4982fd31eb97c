/** The models of a kind that the key may use. */
import type { Model } from '@kinora/client'
import { queryOptions, useQuery } from '@tanstack/react-query'

import { kinora } from '../../service.ts'

export type AudioModel = Model

const modelsQuery = queryOptions({
  // Changes by an operator make everything below `models` stale.
  queryKey: ['models', 'offered'],
  queryFn: async () => {
    const models: AudioModel[] = []
    for await (const model of kinora.models.list()) models.push(model)
    return models
  },
  staleTime: 60_000,
})

export const useAudioModels = (kind: AudioModel['kind']) => {
  const query = useQuery(modelsQuery)
  return { ...query, models: (query.data ?? []).filter((model) => model.kind === kind) }
}

export const findPrice = ({ prices }: AudioModel, unit: string) => prices.find((price) => price.unit === unit)
