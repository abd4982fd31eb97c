import { RotateBody, requestKeySettings } from '../contract/src/key-fields.ts'
import { RotateSecretBody, WebhookEndpointBody } from '../contract/src/operations/webhook-fields.ts'
/** The limits of fields in the forms of the console, from the schemas of the bodies. */
import { operatorRoles } from '../contract/src/operator-key.ts'

interface Schema {
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  items?: Schema
  enum?: string[]
  type?: string
}

const limits = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'default'] as const

const describe = (schema: Schema): unknown => {
  const { anyOf, properties, items } = schema
  const value = anyOf?.find(({ type }) => type !== 'null')
  if (value !== undefined) return describe(value)
  if (properties !== undefined) return describeAll(properties)
  const own = schema as Record<string, unknown>
  return {
    ...Object.fromEntries(limits.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]))),
    ...(schema.enum !== undefined && { values: schema.enum }),
    ...(items !== undefined && { items: describe(items) }),
  }
}

const describeAll = (properties: Record<string, Schema>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, describe(schema)]))

const write = (name: string, value: unknown) =>
  `export const ${name} = ${JSON.stringify(value, null, 2)} as const`

export const consoleFieldsFile = (): string => {
  const { currency: _currency, ...settings } = requestKeySettings
  return [
    '// Generated from the contract by `npm run generate`. Do not edit.',
    '',
    write('keyFields', describeAll(settings)),
    write('rotateKeyFields', describe(RotateBody)),
    write('operatorRoles', operatorRoles),
    write('webhookFields', describe(WebhookEndpointBody)),
    write('rotateSecretFields', describe(RotateSecretBody)),
    '',
  ].join('\n')
}
