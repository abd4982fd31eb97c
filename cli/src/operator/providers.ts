/** `kinora providers`. */
import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'

import { isKinoraError } from '@kinora/client'
import type { KinoraAdmin, Provider, TestProviderResponse } from '@kinora/client/admin'

import { connectOperator } from '../connection/connect-operator.ts'
import type { OperatorInput } from '../connection/find-operator.ts'
import { exitCodes } from '../frame/exit-code.ts'
import { UsageError } from '../frame/usage-error.ts'
import { askSecret, canAsk, confirmChange } from '../terminal/ask.ts'
import { formatMoney } from '../terminal/format.ts'
import { cleanText, print, printJson, style, tell, type Style } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'
import { omitAbsent, readAmount } from './read-amount.ts'
import { readSettings } from './read-settings.ts'

type CommonInput = OperatorInput & { json: boolean }

const describeState = ({ enabled, is_removed: isRemoved, problem, models, spend }: Provider): string => {
  if (isRemoved) return 'removed'
  if (!enabled) return 'disabled'
  if (problem !== null) return 'unusable'
  if (spend?.is_stopped === true) return 'budget spent'
  return models.some(({ health }) => health.state === 'unhealthy') ? 'unhealthy' : 'healthy'
}

const styleOfProvider = (provider: Provider): Style => {
  const state = describeState(provider)
  if (state === 'healthy') return 'green'
  return state === 'unusable' || state === 'unhealthy' ? 'red' : 'yellow'
}

export const listProviders = async (input: CommonInput & { limit: number }): Promise<void> => {
  const admin = await connectOperator(input)
  const page = await admin.providers.list({ limit: input.limit })
  if (input.json) return printJson(page)
  printTable(page.data, [
    { title: 'name', cell: ({ name }) => name },
    { title: 'kind', cell: ({ kind }) => kind },
    { title: 'state', cell: describeState, style: styleOfProvider },
    { title: 'models', cell: ({ models }) => String(models.length), isRight: true },
    {
      title: 'running',
      cell: ({ tasks_in_flight: count, slots }) => `${count} of ${slots}`,
      isRight: true,
    },
    {
      title: 'today',
      cell: ({ spend }) => (spend === null ? '' : formatMoney(spend.spent_micros, spend.currency)),
      isRight: true,
    },
    { title: 'problem', cell: ({ problem }) => problem ?? '', isFlexible: true },
  ])
}

const showTest = ({ ok, provider, status, duration_ms: ms, message }: TestProviderResponse): void => {
  const mark = ok ? style('green', '✓') : style('red', '✗')
  const response = status === null ? '' : ` (${status} in ${ms} ms)`
  print(`${mark} ${cleanText(provider)}: ${cleanText(message)}${response}`)
}

export const testProvider = async (input: CommonInput & { name: string }): Promise<number> => {
  const admin = await connectOperator(input)
  const test = await admin.providers.test(input.name)
  if (input.json) printJson(test)
  else showTest(test)
  return test.ok ? 0 : exitCodes.upstream
}

const findProvider = async (admin: KinoraAdmin, name: string): Promise<Provider | undefined> => {
  try {
    return await admin.providers.get(name)
  } catch (error) {
    if (isKinoraError(error) && error.status === 404) return undefined
    throw error
  }
}

/** The API key is never an argument, because other users of the machine see those. */
const readKey = async (file: string | undefined): Promise<string | undefined> => {
  if (file === undefined) {
    const asked = canAsk() ? await askSecret('API key of the provider (empty for none)') : ''
    return asked === '' ? undefined : asked
  }
  const key = (file === '-' ? await readAll(process.stdin) : await readFile(file, 'utf8')).trim()
  if (key === '') throw new UsageError(`${file === '-' ? 'stdin' : file} is empty.`)
  return key
}

export const addProvider = async (
  input: CommonInput & {
    name: string
    kind: string
    baseUrl: string | undefined
    keyFile: string | undefined
    slots: number | undefined
    budget: string | undefined
    currency: string | undefined
    set: string[]
    yes: boolean
  },
): Promise<number> => {
  const budget = input.budget === undefined ? undefined : readAmount('--budget', input.budget)
  const settings = input.set.length === 0 ? undefined : readSettings(input.set)
  const admin = await connectOperator(input)
  if ((await findProvider(admin, input.name)) !== undefined) {
    await confirmChange(
      `Replace the settings of the provider ${input.name}? Those that are not named get their defaults; its API key stays unless another is given.`,
      input.yes,
    )
  }
  const provider = await admin.providers.set(input.name, {
    kind: input.kind,
    ...omitAbsent({
      base_url: input.baseUrl,
      api_key: await readKey(input.keyFile),
      slots: input.slots,
      budget_per_day_micros: budget,
      currency: input.currency,
      settings,
    }),
  })
  if (input.json) return (printJson(provider), 0)
  print(
    `Saved the provider ${cleanText(provider.name)}. Next: kinora models add, or routes of existing models.`,
  )
  if (provider.problem !== null) tell(cleanText(provider.problem))
  const test = await admin.providers.test(provider.name)
  showTest(test)
  return test.ok ? 0 : exitCodes.upstream
}
