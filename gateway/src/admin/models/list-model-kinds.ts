import type { adminOperations } from '@kinora/contract/admin-operations'
import type { ModelKind } from '@kinora/contract/operations/admin/provider-protocols'

import type { Handler } from '../../http/call.ts'
import { describeModelKinds, type ModelSetting } from '../../provider-config/describe-models.ts'
import { snakeCase, snakeCaseIn } from '../settings/setting-names.ts'

const labelOf = (name: string): string =>
  `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`

const presentField = (setting: ModelSetting): ModelKind['fields'][number] => {
  const name = snakeCase(setting.name)
  return {
    name,
    label: labelOf(name),
    description: snakeCaseIn(setting.description),
    required: setting.isRequired,
    secret: false,
    advanced: setting.isAdvanced,
    default: setting.default ?? null,
    example: setting.example ?? null,
    schema: setting.schema,
  }
}

export const listModelKinds = (): Handler<typeof adminOperations.listModelKinds> => {
  const data = describeModelKinds().map(({ kind, settings }): ModelKind => ({
    object: 'model.kind',
    kind,
    fields: settings.map(presentField),
  }))
  return async () => ({ body: { object: 'list', data } })
}
