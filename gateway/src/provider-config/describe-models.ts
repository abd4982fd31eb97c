/** The settings of every kind of model with what a form needs to know about them. */
import { plainSchema, type Property, type SettingDescription } from './describe-protocols.ts'
import { modelConfigSchemas } from './model-config.ts'

export type ModelSetting = Omit<SettingDescription, 'isOwn' | 'isSecret'>

const usualSettings = new Set([
  'description',
  'prices',
  'routes',
  'aliases',
  'state',
  'seconds',
  'sizes',
  'sound',
])
/** Short for `routes` with one route, which forms should use instead. */
const shortSettings = new Set(['provider', 'upstreamModel'])

const examples: Record<string, unknown> = {
  prices: [{ unit: 'second', micros: 100_000 }],
  aliases: { 'alias-1': {} },
  seconds: [4, 8],
  sizes: ['1280x720'],
  routes: [{ provider: 'local' }],
  family: 'B',
}

/** Links lead to the generated document. */
const withoutLinks = (text: string) => text.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')

export const describeModelKinds = (): { kind: keyof typeof modelConfigSchemas; settings: ModelSetting[] }[] =>
  (Object.keys(modelConfigSchemas) as (keyof typeof modelConfigSchemas)[]).map((kind) => {
    const { kind: _, ...properties } = modelConfigSchemas[kind].properties as unknown as Record<
      string,
      Property
    >
    const required: readonly string[] = modelConfigSchemas[kind].required
    const settings = Object.entries(properties).flatMap(([name, property]): ModelSetting[] => {
      if (shortSettings.has(name)) return []
      const isRequired = required.includes(name) && property.default === undefined
      return [
        {
          ...{ name, isRequired, default: property.default },
          description: withoutLinks(property.description ?? ''),
          isAdvanced: !isRequired && !usualSettings.has(name),
          example: examples[name] ?? property.default,
          schema: plainSchema(property),
        },
      ]
    })
    return { kind, settings }
  })
