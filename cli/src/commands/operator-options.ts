/** Options of every command that calls the admin API. */
import { serviceOptions } from './service-options.ts'

export const operatorOptions = {
  url: { type: 'text', summary: 'address of the admin API, if it is another than that of the service' },
  ...serviceOptions,
} as const

export const yesOption = { yes: { type: 'flag', short: 'y', summary: 'do not ask' } } as const

export const pageLimitOption = {
  limit: { type: 'number', min: 1, max: 200, default: '50', summary: 'how many to show' },
} as const

export const currencyOption = {
  currency: {
    type: 'text',
    value: 'code',
    summary: 'the currency of the amounts, such as USD; another than that of the service is refused',
  },
} as const
