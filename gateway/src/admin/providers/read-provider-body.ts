import { ApiError } from '@kinora/contract/errors'
import { apiKeyCharactersMax, ProviderBody } from '@kinora/contract/operations/admin/providers'

import type { Call } from '../../http/call.ts'
import { Secret } from '../../platform/secret.ts'
import { providerConfigSchema } from '../../provider-config/provider-config.ts'
import { isMapping, type RawConfig } from '../../provider-config/validate-config.ts'
import { camelCase } from '../settings/setting-names.ts'

const refuse = (param: string, message: string) => new ApiError('invalid_parameter', { param, message })

/** Most keys are one word. Some vendors' are the JSON of an account, which may be laid out over lines. */
const isKey = (text: string): boolean => {
  if (text.length > apiKeyCharactersMax) return false
  if (/^[\x21-\x7e]+$/.test(text)) return true
  try {
    return isMapping(JSON.parse(text))
  } catch {
    return false
  }
}

/** Undefined where none is given, null where the one there is shall go. What is wrong with it is said without it. */
const readApiKey = ({ fields }: Pick<Call, 'fields'>): Secret | null | undefined => {
  const given = fields.value('api_key')
  if (given === undefined) return fields.isNull('api_key') ? null : undefined
  if (typeof given === 'string' && isKey(given)) return new Secret(given)
  throw refuse(
    'api_key',
    `'api_key' must be text without spaces, or the JSON of an account, of at most ${apiKeyCharactersMax} characters.`,
  )
}

const readOwnSettings = ({ fields }: Pick<Call, 'fields'>): RawConfig => {
  const given = fields.value('settings') ?? {}
  if (!isMapping(given)) throw refuse('settings', "'settings' must be an object.")
  const named = Object.entries(given).map(([name, value]) => [camelCase(name), name, value] as const)
  for (const [setting, name] of named) {
    // Beside it they are checked, and kept, each in its own way.
    if (Object.hasOwn(providerConfigSchema.properties, setting)) {
      throw refuse(`settings.${name}`, `'${name}' belongs beside 'settings', not inside of it.`)
    }
  }
  return Object.fromEntries(named.flatMap(([setting, , value]) => (value === null ? [] : [[setting, value]])))
}

/** The entry as the file would have it, and the key, which no entry has. */
export const readProviderBody = (call: Call): { config: RawConfig; apiKey: Secret | null | undefined } => {
  // Both are read apart: one must not be quoted, and the other is only known to its kind.
  const { api_key: _, settings: __, ...common } = call.read(ProviderBody)
  const named = Object.entries(common).map(([name, value]) => [camelCase(name), value] as const)
  return {
    config: { ...Object.fromEntries(named), ...readOwnSettings(call) },
    apiKey: readApiKey(call),
  }
}
