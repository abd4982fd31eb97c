import { ApiError } from '@kinora/contract/errors'
import { apiKeyCharactersMax, ProviderBody } from '@kinora/contract/operations/admin/providers'

import type { Call } from '../../http/call.ts'
import { Secret } from '../../platform/secret.ts'
import { providerConfigSchema } from '../../provider-config/provider-config.ts'
import { isMapping, type RawConfig } from '../../provider-config/validate-config.ts'
import { readAmounts } from '../read-amounts.ts'
import { camelCase } from '../settings/setting-names.ts'

const refuse = (param: string, message: string) => new ApiError('invalid_parameter', { param, message })

/** Most API keys are one word. Some vendors use the JSON of a service account, which may span lines. */
const isKey = (text: string): boolean => {
  if (text.length > apiKeyCharactersMax) return false
  if (/^[\x21-\x7e]+$/.test(text)) return true
  try {
    return isMapping(JSON.parse(text))
  } catch {
    return false
  }
}

/** Undefined if the key is not given, null if it is to be removed. Error messages never quote the key. */
const readApiKey = ({ fields }: Pick<Call, 'fields'>): Secret | null | undefined => {
  const given = fields.value('api_key')
  if (given === undefined) return fields.isNull('api_key') ? null : undefined
  if (typeof given === 'string' && isKey(given)) return new Secret(given)
  throw refuse(
    'api_key',
    `'api_key' must be text without spaces, or the JSON of a service account, of at most ${apiKeyCharactersMax} characters.`,
  )
}

const readOwnSettings = ({ fields }: Pick<Call, 'fields'>): RawConfig => {
  const given = fields.value('settings') ?? {}
  if (!isMapping(given)) throw refuse('settings', "'settings' must be an object.")
  const named = Object.entries(given).map(([name, value]) => [camelCase(name), name, value] as const)
  for (const [setting, name] of named) {
    // Common settings are top-level fields with their own validation.
    if (Object.hasOwn(providerConfigSchema.properties, setting)) {
      throw refuse(`settings.${name}`, `'${name}' is a top-level field; move it out of 'settings'.`)
    }
  }
  return Object.fromEntries(named.flatMap(([setting, , value]) => (value === null ? [] : [[setting, value]])))
}

/** The configuration as in the file, and the key, which is stored separately. */
export const readProviderBody = (call: Call): { config: RawConfig; apiKey: Secret | null | undefined } => {
  // The key must not be quoted in an error, and only the provider's kind knows its settings.
  const {
    api_key: _,
    settings: __,
    currency: ___,
    ...common
  } = readAmounts(call, ProviderBody, call.operator.currency)
  const named = Object.entries(common).map(([name, value]) => [camelCase(name), value] as const)
  return {
    config: { ...Object.fromEntries(named), ...readOwnSettings(call) },
    apiKey: readApiKey(call),
  }
}
