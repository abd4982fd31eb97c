/** Decides which service a command calls, with which key. */
import { join, resolve } from 'node:path'

import { UsageError } from '../frame/usage-error.ts'
import { findDevService } from './dev-service.ts'
import { configDirectory, readProfileName, readServiceVariables } from './environment.ts'
import { readProfiles, type Service } from './profiles.ts'

export interface FoundService extends Service {
  /** Where it was found, for messages. */
  source: string
}

export const profilesFile = (): string => join(configDirectory(), 'profiles.json')

const defaultUrl = 'http://127.0.0.1:8787'
export const defaultDataDirectory = '.kinora'

/** The address of a service, without what the base URLs of SDKs have. */
export const normalizeUrl = (text: string): string => {
  const given = /^https?:\/\//.test(text) ? text : `https://${text}`
  if (!URL.canParse(given)) throw new UsageError(`"${text}" is not a URL, such as https://media.example.com.`)
  return given.replace(/\/+$/, '').replace(/(\/openai)?\/v1$/, '')
}

/** A key of OpenAI itself belongs to another service. */
const isForeign = (url: string | undefined, names: { url: string }) =>
  names.url === 'OPENAI_BASE_URL' &&
  (url === undefined || /^(https?:\/\/)?[^/]*\bopenai\.com([:/]|$)/i.test(url))

export const findInEnvironment = (): FoundService | undefined => {
  for (const { names, url, key } of readServiceVariables()) {
    if (key === undefined || isForeign(url, names)) continue
    return { url: normalizeUrl(url ?? defaultUrl), key, source: names.key }
  }
  return undefined
}

export const findProfile = async (name: string | undefined): Promise<FoundService | undefined> => {
  const file = profilesFile()
  const { current, profiles } = await readProfiles(file)
  const chosen = name ?? current ?? undefined
  if (chosen === undefined) return undefined
  if (Object.hasOwn(profiles, chosen) && profiles[chosen] !== undefined) {
    return { ...profiles[chosen], source: `profile ${chosen}` }
  }
  const names = Object.keys(profiles)
  throw new UsageError(
    `There is no profile "${chosen}" in ${file}.${names.length === 0 ? '' : ` There are: ${names.join(', ')}.`} Create it with kinora login --profile ${chosen}.`,
  )
}

/** The environment first, then a profile, then the service of `kinora dev`. A profile that is named as an option is first. */
export const findService = async (profile: string | undefined): Promise<FoundService> => {
  if (profile !== undefined) {
    const named = await findProfile(profile)
    if (named !== undefined) return named
  }
  const inEnvironment = findInEnvironment()
  if (inEnvironment !== undefined) return inEnvironment
  const inProfile = await findProfile(readProfileName())
  if (inProfile !== undefined) return inProfile
  const directory = resolve(defaultDataDirectory)
  const dev = await findDevService(directory)
  if (dev !== undefined) return { url: dev.url, key: dev.key, source: `kinora dev in ${directory}` }
  throw Object.assign(
    new Error(
      'No service is configured. Run kinora login, set KINORA_URL and KINORA_API_KEY, or start one here with kinora dev.',
    ),
    { exitCode: 3 },
  )
}
