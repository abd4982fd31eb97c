/** What the filters offer: what exists, what failed lately, and what is chosen. */
import { useQuery } from '@tanstack/react-query'

import { kinoraAdmin } from '../service.ts'
import type { RequestSearch } from './filters.ts'

export interface Named {
  value: string
  label: string
}

export type ChoiceName = 'operation' | 'model' | 'account' | 'key' | 'code' | 'provider'

const settings = { staleTime: 60_000, retry: false }
const weekSeconds = 7 * 86_400
const nothing: never[] = []

/** Operations are those of the newest requests and of the errors of a week; each of them can be given in the URL. */
const readSeen = async () => {
  const from = Math.floor(Date.now() / 1_000) - weekSeconds
  const [errors, newest] = await Promise.all([
    kinoraAdmin.requests.errors({ from, limit: 200 }),
    kinoraAdmin.requests.list({ limit: 200 }),
  ])
  const operations = new Set([...errors.data, ...newest.data].map(({ operation }) => operation))
  return {
    operation: [...operations].filter((each) => each !== 'none'),
    code: [...new Set(errors.data.map((group) => group.error_code))],
  }
}

const name = (values: string[]): Named[] => values.map((value) => ({ value, label: value }))

export const useChoices = (search: RequestSearch): Record<ChoiceName, Named[]> => {
  const { account } = search
  const seen = useQuery({ queryKey: ['request-filters', 'seen'], queryFn: readSeen, ...settings })
  const models = useQuery({
    queryKey: ['request-filters', 'models'],
    queryFn: async () => (await kinoraAdmin.models.list()).data.map(({ id }) => id),
    ...settings,
  })
  const providers = useQuery({
    queryKey: ['request-filters', 'providers'],
    queryFn: async () => (await kinoraAdmin.providers.list()).data.map((provider) => provider.name),
    ...settings,
  })
  const accounts = useQuery({
    queryKey: ['request-filters', 'accounts'],
    queryFn: async (): Promise<Named[]> =>
      (await kinoraAdmin.accounts.list({ limit: 200 })).data.map(({ id, name: label }) => ({
        value: id,
        label,
      })),
    ...settings,
  })
  const keys = useQuery({
    queryKey: ['request-filters', 'keys', account],
    queryFn: async (): Promise<Named[]> =>
      (
        await kinoraAdmin.keys.list({ limit: 200, ...(account !== undefined && { account_id: account }) })
      ).data.map(({ id, name: label }) => ({ value: id, label })),
    ...settings,
  })
  const found: Record<ChoiceName, Named[]> = {
    operation: name(seen.data?.operation ?? nothing),
    code: name(seen.data?.code ?? nothing),
    model: name(models.data ?? nothing),
    provider: name(providers.data ?? nothing),
    account: accounts.data ?? nothing,
    key: keys.data ?? nothing,
  }
  const complete = (choice: ChoiceName): Named[] => {
    const chosen = search[choice]
    const isMissing = chosen !== undefined && !found[choice].some(({ value }) => value === chosen)
    return [...found[choice], ...(isMissing ? name([chosen]) : [])].toSorted((one, other) =>
      one.label.localeCompare(other.label),
    )
  }
  return {
    operation: complete('operation'),
    code: complete('code'),
    model: complete('model'),
    provider: complete('provider'),
    account: complete('account'),
    key: complete('key'),
  }
}
