/**
 * The prices in force: the newest started price set by an operator, else the price of the catalog. Every process caches
 * them, refreshes on a database notification, and polls as a fallback.
 */
import type { Catalog } from '../../models/catalog.ts'
import type {
  ChatModel,
  ModelConfig,
  SpeechModel,
  TranscriptionModel,
  VideoModel,
} from '../../models/model.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { readPrices, type SetPrice } from './price-store.ts'
import { priceAt, type Price, type PriceUnit, type Rate } from './price.ts'

/** Prices by kind of token. */
export interface TokenRates {
  textInput: Rate
  audioInput: Rate
  textOutput: Rate
  audioOutput: Rate
}

/** A price and its source. */
export interface PriceInForce extends Omit<SetPrice, 'id' | 'startsAt' | 'actor'> {
  id: string | undefined
  startsAt: Date | undefined
  actor: string | undefined
  source: ModelConfig['priceSource'] | 'operator'
}

export interface PriceList {
  priceOfVideo: (model: VideoModel, video: { seconds: number; width: number; height: number }) => Price
  /** Price of a recording, by its length in seconds. */
  priceOfMinutes: (model: TranscriptionModel, seconds: number) => Price
  /** The returned function uses the current price, so that one request is charged at one price. */
  priceOfCharacters: (model: SpeechModel) => (characters: number) => Price
  tokenPrices: (model: ChatModel) => TokenRates
  /** The prices in force of one model, and of all models in a stable order. */
  ofModel: (model: ModelConfig) => PriceInForce[]
  inForce: () => PriceInForce[]
  /** Models whose prices are all zero. */
  freeModels: () => Set<string>
  /** All prices set by operators, including past and future ones. */
  all: () => SetPrice[]
  /** Reads the prices from the database again. */
  refresh: () => Promise<void>
  stop: () => Promise<void>
}

const refreshEveryMs = 30_000

/** The catalog prices of a model. */
const catalogRates = (entry: ModelConfig): Rate[] => {
  if (entry.kind === 'video') return [{ unit: 'second', unitMicros: entry.pricePerSecondMicros }]
  if (entry.kind === 'transcription') return [{ unit: 'minute', unitMicros: entry.pricePerMinuteMicros }]
  if (entry.kind === 'speech') {
    return [{ unit: 'million_characters', unitMicros: entry.pricePerMillionCharactersMicros }]
  }
  const { textInputMicros, audioInputMicros, textOutputMicros, audioOutputMicros } = entry.prices
  return [
    { unit: 'million_text_input_tokens', unitMicros: textInputMicros },
    { unit: 'million_audio_input_tokens', unitMicros: audioInputMicros },
    { unit: 'million_text_output_tokens', unitMicros: textOutputMicros },
    { unit: 'million_audio_output_tokens', unitMicros: audioOutputMicros },
  ]
}

/** The units that a model can be priced in. */
export const unitsOf = (entry: ModelConfig): PriceUnit[] => [
  ...catalogRates(entry).map(({ unit }) => unit),
  ...(entry.kind === 'video' ? (['call'] as const) : []),
]

/** The price in force: the one that started last; of several that started together, the newest version. */
const newestOf = (prices: SetPrice[], nowMs: number): SetPrice | undefined =>
  prices
    .filter(({ startsAt }) => startsAt.getTime() <= nowMs)
    .toSorted((a, b) => b.startsAt.getTime() - a.startsAt.getTime() || b.version - a.version)[0]

/** The price for the size if there is one, else the price for all sizes. The unit that was priced last applies. */
export const rateAt = (
  prices: SetPrice[],
  units: PriceUnit[],
  resolution: string | null,
  nowMs: number,
): Rate | undefined => {
  const of = (size: string | null) =>
    newestOf(
      prices.filter((price) => units.includes(price.unit) && price.resolution === size),
      nowMs,
    )
  const found = (resolution === null ? undefined : of(resolution)) ?? of(null)
  return found && { unit: found.unit, unitMicros: found.unitMicros, version: found.version }
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

  const rateOf = (
    entry: ModelConfig,
    fallback: Rate,
    units = [fallback.unit],
    resolution: string | null = null,
  ) => rateAt(byModel.get(entry.id) ?? [], units, resolution, Date.now()) ?? fallback

  const list: PriceList = {
    priceOfVideo: (model, { seconds, width, height }) => {
      const fallback: Rate = { unit: 'second', unitMicros: model.pricePerSecondMicros }
      const rate = rateOf(model, fallback, ['second', 'call'], `${width}x${height}`)
      return priceAt(rate, rate.unit === 'call' ? 1 : seconds)
    },
    priceOfMinutes: (model, seconds) =>
      priceAt(rateOf(model, { unit: 'minute', unitMicros: model.pricePerMinuteMicros }), seconds),
    priceOfCharacters: (model) => {
      const unitMicros = model.pricePerMillionCharactersMicros
      const rate = rateOf(model, { unit: 'million_characters', unitMicros })
      return (characters) => priceAt(rate, characters)
    },
    tokenPrices: (model) => {
      const { textInputMicros, audioInputMicros, textOutputMicros, audioOutputMicros } = model.prices
      return {
        textInput: rateOf(model, { unit: 'million_text_input_tokens', unitMicros: textInputMicros }),
        audioInput: rateOf(model, { unit: 'million_audio_input_tokens', unitMicros: audioInputMicros }),
        textOutput: rateOf(model, { unit: 'million_text_output_tokens', unitMicros: textOutputMicros }),
        audioOutput: rateOf(model, { unit: 'million_audio_output_tokens', unitMicros: audioOutputMicros }),
      }
    },
    ofModel: (entry) => {
      const nowMs = Date.now()
      const kinds = Object.values(
        Object.groupBy(byModel.get(entry.id) ?? [], ({ unit, resolution }) => `${unit}/${resolution}`),
      )
      const set = kinds.flatMap((each = []) => newestOf(each, nowMs) ?? [])
      // A price per call replaces the price per second, unless the latter was set later.
      const effective = set.filter(
        ({ resolution, unit }) =>
          rateAt(set, unitsOf(entry), resolution, nowMs)?.unit === unit || entry.kind !== 'video',
      )
      const isSet = (unit: PriceUnit) =>
        effective.some(
          (price) => price.resolution === null && (price.unit === unit || entry.kind === 'video'),
        )
      const fromCatalog = catalogRates(entry).filter(({ unit }) => !isSet(unit))
      return [
        ...fromCatalog.map(({ unit, unitMicros }) => ({
          ...{ id: undefined, startsAt: undefined, actor: undefined, source: entry.priceSource },
          ...{ model: entry.id, unit, resolution: null, unitMicros, version: 0 },
        })),
        ...effective.map((price) => ({ ...price, source: 'operator' as const })),
      ]
    },
    inForce: () => catalog.available().flatMap(list.ofModel),
    freeModels: () => {
      const inForce = list.inForce()
      const costly = new Set(inForce.flatMap(({ model, unitMicros }) => (unitMicros === 0 ? [] : model)))
      return new Set(inForce.flatMap(({ model }) => (costly.has(model) ? [] : model)))
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
