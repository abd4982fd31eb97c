/** TypeScript types for the schemas of the contract, as text. */
import { globSync } from 'node:fs'

/** The parts of a JSON schema that types depend on. */
export interface Schema {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  patternProperties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  format?: string
  title?: string
  description?: string
  'x-image'?: boolean
  'x-deep-object'?: boolean
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && ('properties' in value || 'anyOf' in value)

/** Two schemas with the same text have the same type. */
const textOf = ({ description: _description, ...schema }: Schema) => JSON.stringify(schema)

/** The exported schemas of the contract by their text. */
const readNames = async (): Promise<Map<string, string>> => {
  const root = new URL('../../', import.meta.url)
  const names = new Map<string, string>()
  for (const file of globSync('contract/src/**/*.ts', { cwd: root }).toSorted()) {
    if (file.endsWith('.test.ts')) continue
    const exported = (await import(new URL(file, root).href)) as Record<string, unknown>
    for (const [name, value] of Object.entries(exported)) {
      if (/^[A-Z]/.test(name) && isSchema(value) && !names.has(textOf(value))) names.set(textOf(value), name)
    }
  }
  return names
}

const names = await readNames()

/** Parameters and objects of the dialect of the `openai` SDKs, which the client does not use. */
export const isOfOpenAi = (schema: Schema): boolean => {
  const item = schema.properties?.['data']?.items
  return (
    schema.title === 'Under /openai/v1' ||
    (names.get(textOf(schema)) ?? '').startsWith('OpenAi') ||
    (item !== undefined && isOfOpenAi(item))
  )
}

const nameOfKey = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))

/** `timestamp_granularities[]` is a name for forms; the client adds the brackets. */
const nameOfParameter = (name: string) => nameOfKey(name.replace(/\[\]$/, ''))

const comment = (text: string | undefined) =>
  text === undefined ? '' : `/** ${text.replaceAll('*/', '*\\/')} */\n`

/** Writes types, and remembers the named ones that it refers to. */
export class TypeWriter {
  readonly declarations = new Map<string, string>()
  readonly #names = new Map<string, string>()

  /** The name or the text of the type of a schema. */
  typeOf(schema: Schema): string {
    const text = textOf(schema)
    const given = this.#names.get(text)
    if (given !== undefined) return given
    const [only, ...more] = (schema.anyOf ?? []).filter((choice) => !isOfOpenAi(choice))
    if (only !== undefined && more.length === 0) return this.typeOf(only)
    const name = names.get(text)
    if (name === undefined || !isObject(schema)) return this.#bodyOf(schema)
    return this.declare(name, schema)
  }

  /** Declares a type under this name, or under a similar one if another schema has it. */
  declare(wanted: string, schema: Schema): string {
    const text = textOf(schema)
    const given = this.#names.get(text)
    if (given !== undefined) return given
    let name = wanted
    while (this.declarations.has(name)) name += 'Object'
    this.#names.set(text, name)
    // Reserved first, because a type may contain itself.
    this.declarations.set(name, '')
    this.declarations.set(name, `${comment(schema.description)}export type ${name} = ${this.#bodyOf(schema)}`)
    return name
  }

  #bodyOf(schema: Schema): string {
    const choices = schema.anyOf ?? schema.oneOf
    if (choices !== undefined) return this.unionOf(choices)
    if (schema.const !== undefined) return JSON.stringify(schema.const)
    if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
    if (Array.isArray(schema.type))
      return schema.type.map((type) => this.#bodyOf({ ...schema, type })).join(' | ')
    switch (schema.type) {
      case 'string': {
        if (schema.format !== 'binary') return 'string'
        return schema['x-image'] === true ? 'Upload | string | { image_url: string }' : 'Upload | string'
      }
      case 'integer':
      case 'number': {
        return 'number'
      }
      case 'boolean':
      case 'null': {
        return schema.type
      }
      case 'array': {
        return `(${schema.items === undefined ? 'unknown' : this.typeOf(schema.items)})[]`
      }
      case 'object': {
        return this.#objectOf(schema)
      }
      default: {
        return 'unknown'
      }
    }
  }

  /** The name of the type of a schema, which gets this one if the contract does not export it. */
  nameOf(schema: Schema, wanted: string): string {
    const known = this.typeOf(schema)
    return /^\w+$/.test(known) ? known : this.declare(wanted, schema)
  }

  unionOf(choices: Schema[]): string {
    const kept = choices.filter((choice) => !isOfOpenAi(choice))
    return [...new Set(kept.map((choice) => this.typeOf(choice)))].join(' | ')
  }

  #objectOf({ properties = {}, required = [], patternProperties, additionalProperties }: Schema): string {
    const [ofPattern] = Object.values(patternProperties ?? {})
    const others = ofPattern ?? additionalProperties
    const lines = Object.entries(properties).map(([name, property]) =>
      this.property(name, property, required),
    )
    if (others === true || (others === undefined && lines.length === 0)) lines.push('[name: string]: unknown')
    else if (typeof others === 'object') lines.push(`[name: string]: ${this.typeOf(others)}`)
    return `{\n${lines.join('\n')}\n}`
  }

  property(name: string, schema: Schema, required: string[]): string {
    const isRequired = required.includes(name)
    // A recording comes only as a file.
    const type = name === 'file' && schema.format === 'binary' ? 'Upload' : this.typeOf(schema)
    return `${comment(schema.description)}${nameOfParameter(name)}${isRequired ? '' : '?'}: ${type}`
  }
}

const isObject = (schema: Schema): boolean =>
  (schema.type === 'object' && Object.keys(schema.properties ?? {}).length > 0) ||
  (schema.anyOf ?? []).filter((choice) => isObject(choice)).length > 0
