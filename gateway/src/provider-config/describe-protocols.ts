/** The settings of every protocol with what a form needs to know about them. */
import type { Protocol, ProtocolAbout } from '../providers/kit/protocol.ts'
import { providerConfigSchema } from './provider-config.ts'

export interface SettingDescription {
  /** In camel case, as in the providers file. */
  name: string
  /** Whether only this protocol has it. */
  isOwn: boolean
  description: string
  isRequired: boolean
  isSecret: boolean
  isAdvanced: boolean
  /** Undefined if there is none. */
  default: unknown
  example: unknown
  /** A JSON schema without annotations. */
  schema: Record<string, unknown>
}

export interface ProtocolDescription extends ProtocolAbout {
  kind: string
  defaultBaseUrl: string | undefined
  settings: SettingDescription[]
}

const usualSettings = new Set(['baseUrl', 'apiKey', 'enabled', 'slots', 'budgetPerDayMicros', 'budgetStops'])
/** In the order of a form; the others follow. */
const firstSettings = ['baseUrl', 'apiKey']

export interface Property {
  type?: string
  anyOf?: { const?: unknown }[]
  default?: unknown
  description?: string
  'x-secret'?: boolean
  [keyword: string]: unknown
}

/** Choices are an enum, which every form knows. Annotations are fields of their own. */
export const plainSchema = ({ anyOf, ...property }: Property): Record<string, unknown> => {
  const isChoice = anyOf?.every((each) => 'const' in each) === true
  const schema = isChoice
    ? { type: 'string', enum: anyOf.map((each) => each.const) }
    : { ...property, ...(anyOf !== undefined && { anyOf }) }
  const entries = Object.entries(JSON.parse(JSON.stringify(schema)) as Record<string, unknown>)
  return Object.fromEntries(entries.filter(([name]) => !/^(x-|~|default$|description$)/.test(name)))
}

/** Settings of a vendor that are a choice or have no default are what operators configure first. */
const isAdvancedOwn = (property: Property, isRequired: boolean) =>
  !isRequired && property.default !== undefined && !('enum' in plainSchema(property))

const describeSetting = (
  name: string,
  property: Property,
  { about, defaultBaseUrl, settings }: Protocol,
): SettingDescription => {
  const isOwn = Object.hasOwn(settings.properties, name)
  const isRequired =
    (name === 'baseUrl' && defaultBaseUrl === undefined) ||
    (name === 'apiKey' && about.needsKey) ||
    (isOwn && (settings.required ?? []).includes(name) && property.default === undefined)
  return {
    ...{ name, isOwn, isRequired },
    description: property.description ?? '',
    isSecret: property['x-secret'] === true,
    isAdvanced: isOwn ? isAdvancedOwn(property, isRequired) : !usualSettings.has(name),
    default: name === 'baseUrl' ? defaultBaseUrl : property.default,
    example: about.examples?.[name] ?? (name === 'baseUrl' ? defaultBaseUrl : property.default),
    schema: plainSchema(property),
  }
}

export const describeProtocols = (protocols: Record<string, Protocol>): ProtocolDescription[] =>
  Object.entries(protocols).map(([kind, protocol]) => {
    const { kind: _, ...common } = providerConfigSchema.properties
    const own = protocol.settings.properties
    const names = [...new Set([...firstSettings, ...Object.keys(own), ...Object.keys(common)])]
    const properties = { ...common, ...own } as unknown as Record<string, Property>
    return {
      ...protocol.about,
      ...{ kind, defaultBaseUrl: protocol.defaultBaseUrl },
      settings: names.flatMap((name) => {
        const property = properties[name]
        return property === undefined ? [] : [describeSetting(name, property, protocol)]
      }),
    }
  })
