/**
 * Rejects parameters of creates that must not be ignored, because the caller would pay for something else than they
 * asked for: misspelt `dry_run`, callbacks, and several results. Other unknown parameters are ignored and reported.
 */
import { ApiError } from '@kinora/contract/errors'
import type { Operation } from '@kinora/contract/operation'

import { nearestName } from '../../platform/text/nearest-name.ts'
import type { Fields } from '../body/fields.ts'
import { dryRun } from './read-query.ts'

const webhookUrl = 'webhook_url'
const callbacks = [webhookUrl, 'webhook', 'callback_url', 'callback', 'notify_url']
const webhookEvents = 'webhook_events'
/** No longer name resembles one of them. */
const nameLengthMax = 32

const reject = (param: string, message: string) => new ApiError('invalid_parameter', { param, message })

const problemOf = (name: string, fields: Fields, known: ReadonlySet<string>): ApiError | undefined => {
  if (name.length > nameLengthMax) return undefined
  if (nearestName(name, [dryRun]) !== undefined) {
    return reject(name, `There is no parameter '${name}'. Did you mean '${dryRun}'? Nothing was created.`)
  }
  const value = fields.value(name)
  const hasValue = value !== undefined || fields.hasFile(name)
  if (hasValue && nearestName(name, callbacks) !== undefined) {
    return reject(
      name,
      known.has(webhookUrl)
        ? `There is no parameter '${name}'. Did you mean '${webhookUrl}'? Nothing was created.`
        : `'${name}' is not supported here. Leave it out. The requests that create a video or a transcription task accept '${webhookUrl}'.`,
    )
  }
  if (hasValue && known.has(webhookEvents) && nearestName(name, [webhookEvents]) !== undefined) {
    return reject(
      name,
      `There is no parameter '${name}'. Did you mean '${webhookEvents}'? Nothing was created.`,
    )
  }
  if (hasValue && name === 'n' && value !== 1 && value !== '1') {
    return reject(name, "'n' must be 1: a request creates one result. Send one request for each result.")
  }
  return undefined
}

/** The names of the body's parameters, in any of its parameter sets. */
const bodyNamesOf = ({ body }: Operation): string[] =>
  [...(body?.form ?? []), ...(body?.json ?? [])].flatMap((schema) =>
    Object.keys((schema as { properties?: object }).properties ?? {}),
  )

/** Makes the check of an operation, for its body or for its query. */
export const rejectUnsupported = (operation: Operation) => {
  const known = new Set([dryRun, ...bodyNamesOf(operation)])
  return (fields: Fields, part: 'body' | 'query'): void => {
    if (operation.creates !== true) return
    for (const name of fields.namesGiven()) {
      if (part === 'query' && known.has(name) && [webhookUrl, webhookEvents].includes(name))
        throw reject(name, `'${name}' belongs in the body of the request. Nothing was created.`)
      const problem = known.has(name) ? undefined : problemOf(name, fields, known)
      if (problem !== undefined) throw problem
    }
  }
}
