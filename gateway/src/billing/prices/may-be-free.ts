import type { Operation } from '@kinora/contract/operation'

import type { Caller } from '../../auth/caller.ts'
import type { Catalog } from '../../models/catalog.ts'
import { mayUseUnderSomeName } from '../../models/model-access.ts'
import type { ModelConfig } from '../../models/model.ts'
import type { PriceList } from './price-list.ts'

interface FreeModels {
  available: ModelConfig[]
  prices: ReturnType<PriceList['all']>
  untilMs: number
  models: ModelConfig[]
}

/**
 * Whether an operation may be for a model that costs nothing. Only the body, read later, tells which model it is. The free
 * models are kept until a model or a price changes, because finding them takes the prices of all models.
 */
export const createMayBeFree = ({
  catalog,
  prices,
}: {
  catalog: Catalog
  prices: Pick<PriceList, 'all' | 'isFree'>
}) => {
  let known: FreeModels | undefined
  const freeModels = (): ModelConfig[] => {
    const [available, all, nowMs] = [catalog.available(), prices.all(), Date.now()]
    if (known?.available === available && known.prices === all && nowMs < known.untilMs) return known.models
    const starts = all.map(({ startsAt }) => startsAt.getTime()).filter((startsAtMs) => startsAtMs > nowMs)
    known = {
      available,
      prices: all,
      untilMs: starts.reduce((least, startsAtMs) => Math.min(least, startsAtMs), Infinity),
      models: available.filter(prices.isFree),
    }
    return known.models
  }
  return (caller: Pick<Caller, 'models'>, { path }: Pick<Operation, 'path'>): boolean => {
    const usable = freeModels().filter((model) => mayUseUnderSomeName(caller, model))
    if (usable.length === 0) return false
    if (usable.some(({ endpoints }) => endpoints.includes(path))) return true
    // An operation that names no model, such as a remix, may be for any.
    return !catalog.servedBy(path).some((model) => mayUseUnderSomeName(caller, model))
  }
}
