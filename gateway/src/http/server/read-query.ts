import { ApiError } from '@kinora/contract/errors'
import { queryOfEveryCreate, type Operation } from '@kinora/contract/operation'
import type { FastifyRequest } from 'fastify'
import { Type, type TSchema } from 'typebox'

import { nearestName } from '../../platform/text/nearest-name.ts'
import { fieldsOf, type Fields } from '../body/fields.ts'
import { readBoolean, readParameters } from '../parameters.ts'

const queryNamesOf = ({ parameters, creates }: Operation) => {
  const { query: required = {}, optionalQuery } = parameters ?? {}
  const optional: Record<string, TSchema> = { ...optionalQuery, ...(creates === true && queryOfEveryCreate) }
  const requiredNames = Object.keys(required)
  return { optional, requiredNames, names: [...requiredNames, ...Object.keys(optional)] }
}

const repeatedly = (name: string) =>
  new ApiError('invalid_parameter', { param: name, message: `'${name}' was given more than once.` })

const isDeep = (schema: { 'x-deep-object'?: boolean } | undefined) => schema?.['x-deep-object'] === true

/** A filter without effect would show an operator everything, as if everything matched. */
const rejectUnknown = (given: object, names: string[]): void => {
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown === undefined) return
  const nearest = nearestName(unknown.slice(0, 100), names)
  throw new ApiError('invalid_parameter', {
    param: unknown.slice(0, 100),
    message: `There is no parameter '${unknown.slice(0, 100)}' here.${nearest === undefined ? '' : ` Did you mean '${nearest}'?`} Use: ${names.join(', ')}.`,
  })
}

/** The members of a parameter that come as `name[member]`, as JSON text; undefined if there are none. */
const membersOf = (name: string, given: Record<string, string | string[]>): string | undefined => {
  const members = Object.entries(given).filter(([each]) => each.startsWith(`${name}[`) && each.endsWith(']'))
  if (members.length === 0) return undefined
  const repeated = members.find(([, value]) => Array.isArray(value))
  if (repeated !== undefined) throw repeatedly(repeated[0].slice(0, 100))
  return JSON.stringify(
    Object.fromEntries(members.map(([each, value]) => [each.slice(name.length + 1, -1), value])),
  )
}

/**
 * Makes the reader of an operation's query parameters. It rejects unknown parameters of the operators' lists, and ignores
 * those of other operations. The schema is built once, when the operation is bound.
 */
export const queryReader = (operation: Operation) => {
  const { optional, requiredNames, names } = queryNamesOf(operation)
  const optionalSet = Type.Object(
    Object.fromEntries(Object.entries(optional).map(([name, schema]) => [name, Type.Optional(schema)])),
  )
  const isFiltered = operation.access === 'operator' && operation.method === 'GET'
  return (request: FastifyRequest): Record<string, string> => {
    if (names.length === 0) return {}
    const given = request.query as Record<string, string | string[]>
    if (isFiltered) rejectUnknown(given, names)
    const texts = new Map<string, string>()
    for (const name of names) {
      const value = given[name]
      if (Array.isArray(value)) throw repeatedly(name)
      if (value !== undefined) texts.set(name, value)
      const members = isDeep(optional[name]) ? membersOf(name, given) : undefined
      if (members !== undefined) texts.set(name, members)
    }
    const { values } = readParameters(optionalSet, fieldsOf('form', texts))
    const query = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))
    for (const name of requiredNames) {
      const text = texts.get(name)
      if (text !== undefined) query[name] = text
    }
    return query
  }
}

export const dryRun = 'dry_run'

/**
 * Whether a query or a body asks for a quote. `dry_run` without a value does too, and a value that is not a boolean is
 * refused, so that a typing error never turns a dry run into a purchase.
 */
export const asksForQuote = ({ creates }: Operation, fields: Fields): boolean => {
  if (creates !== true || !fields.isGiven(dryRun)) return false
  const value = fields.value(dryRun)
  const isBlank = value === undefined || (typeof value === 'string' && value.trim() === '')
  return isBlank && !fields.hasFile(dryRun) ? true : readBoolean(dryRun, value)
}

/** The query as fields, with the parameters that the operation does not know. */
export const queryFieldsOf = (request: FastifyRequest): Fields =>
  fieldsOf('form', new Map(Object.entries(request.query as object)))

/** Makes the function that finds the query parameters of a create that have no effect. */
export const ignoredQuery = (operation: Operation) => {
  const known = new Set(queryNamesOf(operation).names)
  return (fields: Fields): string[] =>
    operation.creates === true ? fields.namesGiven().filter((name) => !known.has(name)) : []
}
