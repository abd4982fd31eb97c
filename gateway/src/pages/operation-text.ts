/** An operation in Markdown, for language models. */
import { examples } from '@kinora/contract/examples'
import {
  errorsOf,
  errorsOfEveryKey,
  errorsOfEveryOperation,
  type Operation,
} from '@kinora/contract/operation'
import { codeSamplesOf } from '@kinora/contract/samples/samples'

/** The parts of a JSON schema that are described. */
interface Schema {
  type?: string | string[]
  description?: string
  enum?: unknown[]
  default?: unknown
  minimum?: number
  maximum?: number
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
}

/** Deeper fields are in the OpenAPI document. */
const depthMax = 2

const typeOf = ({ type, items, anyOf, oneOf }: Schema): string => {
  if (items !== undefined) return `array of ${typeOf(items)}`
  if (type !== undefined) return [type].flat().join(' or ')
  return [...new Set((anyOf ?? oneOf ?? []).map(typeOf))].join(' or ') || 'any'
}

const limitsOf = ({ enum: values, default: fallback, minimum, maximum }: Schema): string[] => [
  ...(values === undefined ? [] : [`one of ${values.map((value) => `\`${String(value)}\``).join(', ')}`]),
  ...(minimum === undefined ? [] : [`at least ${minimum}`]),
  ...(maximum === undefined ? [] : [`at most ${maximum}`]),
  ...(fallback === undefined ? [] : [`default \`${JSON.stringify(fallback)}\``]),
]

const fieldsOf = (schema: Schema): Schema =>
  schema.items ?? (schema.anyOf ?? schema.oneOf)?.find(({ properties }) => properties !== undefined) ?? schema

const fieldLines = (schema: Schema, depth = 1): string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const facts = [
      typeOf(field),
      ...(schema.required?.includes(name) === true ? ['required'] : []),
      ...limitsOf(field),
    ]
    const line = `${'  '.repeat(depth - 1)}- \`${name}\` (${facts.join(', ')}): ${field.description ?? ''}`
    return depth < depthMax ? [line, ...fieldLines(fieldsOf(field), depth + 1)] : [line]
  })

const section = (title: string, lines: string[]) =>
  lines.length === 0 ? [] : ['', `${title}:`, '', ...lines]

const parameterLines = ({ parameters }: Operation): string[] =>
  [
    { where: 'path', schemas: parameters?.path },
    { where: 'query, required', schemas: parameters?.query },
    { where: 'query', schemas: parameters?.optionalQuery },
  ].flatMap(({ where, schemas = {} }) =>
    Object.entries(schemas).map(([name, given]) => {
      const schema: Schema = given
      const facts = [where, typeOf(schema), ...limitsOf(schema)]
      return `- \`${name}\` (${facts.join(', ')}): ${schema.description ?? ''}`
    }),
  )

const bodySections = ({ body }: Operation): string[] => {
  const sets: Schema[] = body?.json ?? body?.form ?? []
  const kinds = [...(body?.form ? ['form'] : []), ...(body?.json ? ['JSON'] : [])].join(' or ')
  return sets.flatMap((set, index) =>
    section(`Body, ${kinds}${sets.length === 1 ? '' : `, parameter set ${index + 1}`}`, fieldLines(set)),
  )
}

const accessOf = (operation: Operation): string => {
  if (operation.access === 'key') return `Needs a key with one of the scopes ${operation.scopes.join(', ')}.`
  return operation.access === 'link' ? 'Needs a signed link.' : 'Needs no key.'
}

export const operationText = (operation: Operation): string => {
  const { id, method, path, summary, description, answer } = operation
  const common = [...errorsOfEveryOperation, ...errorsOfEveryKey]
  const codes = errorsOf(operation).filter((code) => !common.includes(code))
  const [curl] = codeSamplesOf(operation, examples[id])
  return [
    `#### ${id}`,
    '',
    `\`${method} ${path}\`: ${summary}. ${accessOf(operation)}`,
    '',
    description,
    ...section('Parameters', parameterLines(operation)),
    ...bodySections(operation),
    ...section(
      `Response (${answer.contentType ?? 'application/json'}): ${answer.description}`.replace(/\.$/, ''),
      answer.schema === undefined ? [] : fieldLines(answer.schema),
    ),
    ...(codes.length === 0 ? [] : ['', `Errors: ${codes.map((code) => `\`${code}\``).join(', ')}`]),
    ...(curl === undefined ? [] : ['', '```sh', curl.source, '```']),
    '',
  ].join('\n')
}
