/** A provider as the written values of its form, and back. */
import type { Provider, SetProviderParams } from '@kinora/client/admin'

import { readForm, writeValue, type Problem, type Written } from '../schema-form/schema-value.ts'
import { getSetting, type Protocol } from './provider-data.ts'

type Field = Protocol['fields'][number]

/** The key is never returned, so its field is empty. */
export const writeProviderForm = (provider: Provider, { fields }: Protocol): Written =>
  Object.fromEntries(
    fields
      .filter(({ secret }) => !secret)
      .map((field) => [field.name, writeValue(field, getSetting(provider, field))]),
  )

interface ReadProvider {
  body: SetProviderParams
  problems: Record<string, Problem>
}

export const readProviderForm = (kind: string, fields: readonly Field[], written: Written): ReadProvider => {
  const { values, problems } = readForm(fields, written)
  const body: Record<string, unknown> = {}
  const settings: Record<string, unknown> = {}
  for (const { name, in_settings: isInSettings } of fields) {
    if (Object.hasOwn(values, name)) (isInSettings ? settings : body)[name] = values[name]
  }
  const hasSettings = Object.keys(settings).length > 0
  return { body: { ...body, kind, ...(hasSettings && { settings }) }, problems }
}

export const checkName = (name: string, names: readonly string[]): 'nameForm' | 'nameTaken' | undefined => {
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) return 'nameForm'
  return names.includes(name) ? 'nameTaken' : undefined
}
