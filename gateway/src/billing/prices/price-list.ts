/**
 * The prices in force: the newest started prices set by an operator, else the prices of the model's configuration. Every
 * process caches them, refreshes on a database notification, and polls as a fallback.
 */
import type { Catalog } from '../../models/catalog.ts'
import type { ModelConfig } from '../../models/model.ts'
import { covers, hasSameConditions, priceUnits, type PricedWork } from '../../models/price-rule.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { readPrices, type SetPrice } from './price-store.ts'
import { pricesFor, type Price } from './price.ts'

/** A price and its source. */
export interface PriceInForce extends Omit<SetPrice, 'id' | 'startsAt' | 'actor'> {
  id: string | undefined
  startsAt: Date | undefined
  actor: string | undefined
  source: ModelConfig['priceSource'] | 'operator'
}

type PricedModel = Pick<ModelConfig, 'id' | 'prices'>

export interface PriceList {
  /** The returned function uses the current prices, so that one request is charged at one price. */
  pricesOf: (model: PricedModel) => (work: PricedWork) => Price[]
  /** The prices in force of one model, and of all models in a stable order. */
  ofModel: (model: PricedModel & Pick<ModelConfig, 'priceSource'>) => PriceInForce[]
  inForce: () => PriceInForce[]
  /** Whether all prices of a model are zero. */
  isFree: (model: PricedModel) => boolean
  /** All prices set by operators, including past and future ones. */
  all: () => SetPrice[]
  /** Reads the prices from the database again. */
  refresh: () => Promise<void>
  stop: () => Promise<void>
}

const refreshEveryMs = 30_000

const measureOf = ({ unit }: Pick<SetPrice, 'unit'>) => priceUnits[unit].measures

/** Whether a later price for the same replaces an earlier one. A price per call replaces one per second. */
const isForSame = (one: SetPrice, other: SetPrice): boolean =>
  measureOf(one) === measureOf(other) && hasSameConditions(one, other)

const isNewer = (one: SetPrice, other: SetPrice): boolean =>
  one.startsAt.getTime() === other.startsAt.getTime()
    ? one.version > other.version
    : one.startsAt > other.startsAt

/** The prices of one model in force: of those for the same, the one that started last. */
export const startedPrices = (prices: SetPrice[], nowMs: number): SetPrice[] => {
  const started = prices.filter(({ startsAt }) => startsAt.getTime() <= nowMs)
  return started.filter((price) => !started.some((other) => isForSame(price, other) && isNewer(other, price)))
}

export const createPriceList = async ({
  postgres,
  catalog,
  log,
}: {
  postgres: Postgres
  catalog: Catalog
  log: Log
}): Promise<PriceList> => {
  let prices: SetPrice[] = []
  let byModel = new Map<string, SetPrice[]>()
  let reading: Promise<void> = Promise.resolve()
  const read = async () => {
    prices = await readPrices(postgres)
    byModel = Map.groupBy(prices, ({ model }) => model)
  }
  // Reads run one after the other; otherwise an older result could overwrite a newer one.
  const refresh = () => {
    reading = reading.catch(() => undefined).then(read)
    return reading
  }
  const refreshSoon = () => {
    refresh().catch((error: unknown) => log.warn({ err: error }, 'prices.not-read'))
  }
  // Listens before the first read, so that a price set in between is not missed.
  const listening = await postgres.listen('instance_changes', refreshSoon)
  await refresh()
  const timer = setInterval(refreshSoon, refreshEveryMs)
  timer.unref()

  const setFor = ({ id }: PricedModel) => startedPrices(byModel.get(id) ?? [], Date.now())
  /** The configured prices that apply to some requests although operators have set others. */
  const configuredFor = ({ prices: configured }: PricedModel, set: SetPrice[]) =>
    configured.filter(
      (rule) => !set.some((price) => measureOf(price) === measureOf(rule) && covers(price, rule)),
    )

  const list: PriceList = {
    pricesOf: (model) => {
      const lists = [setFor(model), model.prices]
      return (work) => pricesFor(lists, work)
    },
    ofModel: (model) => {
      const set = setFor(model)
      return [
        ...configuredFor(model, set).map((rule) => ({
          ...rule,
          ...{ id: undefined, startsAt: undefined, actor: undefined, source: model.priceSource },
          ...{ model: model.id, version: 0 },
        })),
        ...set.map((price) => ({ ...price, source: 'operator' as const })),
      ]
    },
    inForce: () => catalog.available().flatMap(list.ofModel),
    isFree: (model) => {
      const set = setFor(model)
      return [...set, ...configuredFor(model, set)].every(({ unitMicros }) => unitMicros === 0)
    },
    all: () => prices,
    refresh,
    stop: async () => {
      clearInterval(timer)
      await listening.stop()
    },
  }
  return list
}
