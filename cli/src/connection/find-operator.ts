/** Decides which service a command for operators calls, with which key. */
import { resolve } from 'node:path'

import { operatorKeyPrefix } from '@kinora/contract/operator-key'

import { exitCodes } from '../frame/exit-code.ts'
import { findDevService } from './dev-service.ts'
import { readOperatorVariables, readProfileName } from './environment.ts'
import {
  defaultDataDirectory,
  findInEnvironment,
  findProfile,
  normalizeUrl,
  type FoundService,
} from './find-service.ts'

export interface OperatorInput {
  profile: string | undefined
  /** Address of the admin API, if it is another than that of the service. */
  url: string | undefined
}

export const isOperatorKey = (key: string): boolean => key.startsWith(operatorKeyPrefix)

/** The admin API of this machine, which the settings of the service may move to a port of its own. */
const readLocalUrl = async (): Promise<string> => {
  const { adminUrlOf, loadSettings } = await import('@kinora/gateway/config')
  return adminUrlOf(loadSettings(['HOST', 'PORT', 'PUBLIC_URL', 'ADMIN_HOST', 'ADMIN_PORT']))
}

const findOperatorVariables = async (given: string | undefined): Promise<FoundService | undefined> => {
  const { url, key } = readOperatorVariables()
  if (key === undefined) return undefined
  return { url: normalizeUrl(given ?? url ?? (await readLocalUrl())), key, source: 'OPERATOR_KEY' }
}

const findDevOperator = async (): Promise<FoundService | undefined> => {
  const directory = resolve(defaultDataDirectory)
  const dev = await findDevService(directory)
  if (dev === undefined) return undefined
  return { url: dev.url, key: dev.operatorKey ?? dev.key, source: `kinora dev in ${directory}` }
}

const findInPlaces = async ({ profile, url }: OperatorInput): Promise<FoundService | undefined> => {
  if (profile !== undefined) return findProfile(profile)
  return (
    (await findOperatorVariables(url)) ??
    findInEnvironment() ??
    (await findProfile(readProfileName())) ??
    (await findDevOperator())
  )
}

const refuse = (message: string) => Object.assign(new Error(message), { exitCode: exitCodes.auth })

const howToGetOne =
  'Set OPERATOR_KEY to the key of an operator, or save it with kinora login --profile operator; `kinora admin create --role read` creates one.'

/**
 * The first place that has a key: of an operator, or of a customer for their own account. No further place is searched
 * for the other kind, because it may belong to another service.
 */
export const findAnyKey = async (input: OperatorInput): Promise<FoundService & { isOperator: boolean }> => {
  const found = await findInPlaces(input)
  if (found === undefined) throw refuse(`No key is configured. ${howToGetOne}`)
  return {
    ...found,
    ...(input.url !== undefined && { url: normalizeUrl(input.url) }),
    isOperator: found.source === 'OPERATOR_KEY' || isOperatorKey(found.key),
  }
}

export const findOperator = async (input: OperatorInput): Promise<FoundService> => {
  const { isOperator, ...found } = await findAnyKey(input)
  if (isOperator) return found
  throw refuse(`This command is for operators, and ${found.source} has the key of a customer. ${howToGetOne}`)
}
