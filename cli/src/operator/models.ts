/** `kinora models add` and `models explain`. */
import { isKinoraError } from '@kinora/client'
import type { KinoraAdmin, ModelEntry } from '@kinora/client/admin'

import { connectOperator } from '../connection/connect-operator.ts'
import type { OperatorInput } from '../connection/find-operator.ts'
import { didYouMean } from '../frame/suggest.ts'
import { UsageError } from '../frame/usage-error.ts'
import { confirmChange } from '../terminal/ask.ts'
import { formatMoney } from '../terminal/format.ts'
import { cleanText, isTerminal, print, printJson, style, tell } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'
import { omitAbsent } from './read-amount.ts'
import { readPrices, readSettings } from './read-settings.ts'

type CommonInput = OperatorInput & { json: boolean }

const findModel = async (admin: KinoraAdmin, id: string): Promise<ModelEntry | undefined> => {
  try {
    return await admin.models.get(id)
  } catch (error) {
    if (isKinoraError(error) && error.status === 404) return undefined
    throw error
  }
}

/** The model is written before its route, and would stay without it. */
const checkProvider = async (admin: KinoraAdmin, given: string): Promise<void> => {
  const names: string[] = []
  for await (const { name } of admin.providers.list({ limit: 200 })) names.push(name)
  if (names.includes(given)) return
  throw new UsageError(
    `There is no provider "${given}".${didYouMean(given, names)} kinora providers list shows them.`,
  )
}

export const addModel = async (
  input: CommonInput & {
    id: string
    kind: string | undefined
    set: string[]
    price: string[]
    provider: string | undefined
    upstream: string | undefined
    cost: string[]
    yes: boolean
  },
): Promise<void> => {
  const prices = readPrices('--price', input.price)
  const costs = readPrices('--cost', input.cost)
  const given = readSettings(input.set)
  if (input.provider === undefined && (input.upstream !== undefined || costs.length > 0)) {
    throw new UsageError('--upstream and --cost are of a route. Name its provider with --provider.')
  }
  const admin = await connectOperator(input)
  if (input.provider !== undefined) await checkProvider(admin, input.provider)
  const present = await findModel(admin, input.id)
  const settings = {
    ...omitAbsent({ kind: input.kind }),
    ...given,
    ...(prices.length > 0 && { prices }),
  }
  const hasSettings = Object.keys(settings).length > 0
  const replaced = [
    ...(hasSettings && present !== undefined ? present.changed : []),
    ...(input.provider !== undefined && present !== undefined ? ['routes'] : []),
  ]
  if (replaced.length > 0) {
    await confirmChange(`Replace what the model ${input.id} has (${replaced.join(', ')})?`, input.yes)
  }
  const model =
    hasSettings || present === undefined ? await admin.models.set(input.id, { settings }) : present
  if (input.provider !== undefined) {
    const route = {
      provider: input.provider,
      ...omitAbsent({ model: input.upstream }),
      ...(costs.length > 0 && { costs }),
    }
    await admin.models.setRoutes(input.id, { routes: [route] })
  }
  if (input.json) return printJson(model)
  print(`${present === undefined ? 'Added' : 'Changed'} the model ${cleanText(model.id)}.`)
  if (model.problem !== null) tell(cleanText(model.problem))
}

export const explainModel = async (
  input: CommonInput & {
    id: string
    seconds: number | undefined
    size: string | undefined
    images: number | undefined
    characters: number | undefined
    remix: boolean
  },
): Promise<void> => {
  const admin = await connectOperator(input)
  const { seconds, size, images, characters } = input
  const explanation = await admin.models.explainRoutes(input.id, {
    ...omitAbsent({ seconds, size, images, characters }),
    ...(input.remix && { is_remix: true }),
  })
  if (input.json) return printJson(explanation)
  const { price_micros: price, currency, routes, model } = explanation
  if (isTerminal()) print(`${style('bold', cleanText(model))}  price ${formatMoney(price, currency)}\n`)
  printTable(routes, [
    { title: 'provider', cell: ({ provider }) => provider },
    { title: 'its model', cell: (route) => route.model },
    {
      title: 'share',
      cell: ({ share }) => `${Math.round(share * 100)} %`,
      style: ({ share }) => (share > 0 ? 'green' : 'dim'),
      isRight: true,
    },
    {
      title: 'cost',
      cell: ({ cost_micros: cost }) => (cost === null ? 'unknown' : formatMoney(cost, currency)),
      isRight: true,
    },
    {
      title: 'margin',
      cell: ({ margin_micros: margin }) => (margin === null ? '' : formatMoney(margin, currency)),
      style: ({ margin_micros: margin }) => (margin !== null && margin < 0 ? 'red' : undefined),
      isRight: true,
    },
    { title: 'why', cell: ({ reason }) => reason, isFlexible: true },
  ])
}
