/** `kinora login` and `kinora logout`. */
import { text } from 'node:stream/consumers'

import { Kinora, type Me } from '@kinora/client'
import { KinoraAdmin } from '@kinora/client/admin'

import { isOperatorKey } from '../connection/find-operator.ts'
import { normalizeUrl, profilesFile } from '../connection/find-service.ts'
import { readProfiles, writeProfiles } from '../connection/profiles.ts'
import { UsageError } from '../frame/usage-error.ts'
import { askSecret, askText, canAsk } from '../terminal/ask.ts'
import { formatMoney } from '../terminal/format.ts'
import { cleanText, print, printJson, tell } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'

interface LoginInput {
  url: string | undefined
  profile: string
  list: boolean
  json: boolean
}

const listProfiles = async ({ json }: LoginInput): Promise<void> => {
  const { current, profiles } = await readProfiles(profilesFile())
  const rows = Object.entries(profiles).map(([name, { url, key }]) => ({
    name,
    url,
    key: `…${key.slice(-4)}`,
    is_current: name === current,
  }))
  if (json) return printJson(rows)
  if (rows.length === 0) return tell('There are no profiles. Run kinora login to create one.')
  printTable(rows, [
    { title: '', cell: ({ is_current }) => (is_current ? '*' : '') },
    { title: 'profile', cell: ({ name }) => name },
    { title: 'service', cell: ({ url }) => url, isFlexible: true },
    { title: 'key', cell: ({ key }) => key },
  ])
}

const readKey = async (): Promise<string> => {
  if (canAsk()) return askSecret('API key')
  if (process.stdin.isTTY) throw new UsageError('Send the key to stdin: kinora login < key.txt')
  return (await text(process.stdin)).trim()
}

export const describeMe = ({ account, balance, key }: Me): string =>
  `${cleanText(account.name)} (key ${cleanText(key.name)}), balance ${formatMoney(balance.available_micros, balance.currency)}`

/** Asks the service about the key. The two kinds of keys open different APIs. */
const checkKey = async (baseUrl: string, apiKey: string) => {
  if (isOperatorKey(apiKey)) {
    const settings = await new KinoraAdmin({ baseUrl, apiKey }).settings.get()
    return { response: settings, description: `The key of an operator of ${baseUrl}` }
  }
  const me = await new Kinora({ baseUrl, apiKey }).me.get()
  return { response: me, description: describeMe(me) }
}

export const login = async (input: LoginInput): Promise<void> => {
  if (input.list) return listProfiles(input)
  const file = profilesFile()
  const stored = await readProfiles(file)
  const known = stored.profiles[input.profile]?.url ?? 'http://127.0.0.1:8787'
  const address = input.url ?? (canAsk() ? await askText('Address of the service', known) : known)
  const url = normalizeUrl(address)
  const key = await readKey()
  if (key === '') throw new UsageError('The key is empty. Send it to stdin: kinora login < key.txt')
  const { response, description } = await checkKey(url, key)
  await writeProfiles(file, {
    current: input.profile,
    profiles: { ...stored.profiles, [input.profile]: { url, key } },
  })
  if (input.json) return printJson(response)
  tell(`Saved in ${file} as the profile ${input.profile}, which is used from now on.`)
  print(description)
}

export const logout = async ({ profile }: { profile: string }): Promise<void> => {
  const file = profilesFile()
  const { current, profiles } = await readProfiles(file)
  if (!Object.hasOwn(profiles, profile)) throw new Error(`There is no profile ${profile} in ${file}.`)
  const { [profile]: _deleted, ...others } = profiles
  await writeProfiles(file, { current: current === profile ? null : current, profiles: others })
  tell(`Deleted the profile ${profile}. Its key is still valid; delete it at the service if nobody needs it.`)
}
