/** Generates the types and the table of methods of `@kinora/client` from the contract. */
import { adminOperations } from '../../contract/src/admin-operations.ts'
import { adminClientMethods, clientMethods } from '../../contract/src/client-methods.ts'
import { errors } from '../../contract/src/errors.ts'
import type { Operation } from '../../contract/src/operation.ts'
import { operations } from '../../contract/src/operations.ts'
import { Quote } from '../../contract/src/operations/account.ts'
import { Event } from '../../contract/src/operations/events.ts'
import { responseKindOf } from '../../contract/src/samples/response-kind.ts'
import { taskErrors } from '../../contract/src/task-errors.ts'
import { isOfOpenAi, TypeWriter, type Schema } from './schema-types.ts'

const note = '// Generated from the contract by `npm run generate`. Do not edit.'

/** How the client treats the operation, apart from method and path: one letter each. */
const flagsOf = (operation: Operation): string => {
  const kind = responseKindOf(operation)
  return [
    operation.creates === true && 'c',
    (operation.parameters?.query ?? operation.parameters?.optionalQuery) !== undefined && 'q',
    operation.body !== undefined && 'b',
    operation.body?.form != null && 'f',
    operation.body?.form != null && operation.body.json == null && 'o',
    kind === 'file' && 'd',
    kind === 'list' && 'l',
    kind === 'events' && 'e',
  ]
    .filter((flag) => flag !== false)
    .join('')
}

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

interface Signature {
  parameters: string
  result: string
}

const schemaOf = (value: unknown) => value as Schema

/** The formats of a response that are not JSON. */
const textFormats = (parameters: [string, Schema][]): { name: string; formats: unknown[] } | undefined => {
  const found = parameters.find(([name]) => name === 'response_format' || name === 'format')
  if (found === undefined) return undefined
  const formats = (found[1].enum ?? []).filter((format) => !String(format).includes('json'))
  return { name: found[0], formats }
}

/** One method with an overload for each kind of result. */
const writeMethod = (operation: Operation, name: string, types: TypeWriter): string => {
  const { id, method, path, summary, parameters = {}, body, answer, creates } = operation
  const queries: [string, Schema][] = Object.entries({
    ...parameters.query,
    ...parameters.optionalQuery,
  }).map(([key, value]) => [key, schemaOf(value)])
  const sets = (body?.json ?? body?.form ?? []).map(schemaOf).filter((set) => !isOfOpenAi(set))
  const given: [string, Schema][] = [
    ...queries,
    ...sets.flatMap((set) => Object.entries(set.properties ?? {})),
  ]
  const required = [...Object.keys(parameters.query ?? {}), ...sets.flatMap((set) => set.required ?? [])]
  const positions = Object.keys(parameters.path ?? {}).map((key) => `${key}: string`)

  let params: string | undefined
  if (sets.length > 0) {
    params = `${capitalize(id)}Params`
    types.declarations.set(params, `export type ${params} = ${types.unionOf(sets)}`)
  } else if (queries.length > 0) {
    params = `${capitalize(id)}Params`
    const lines = queries.map(([key, schema]) =>
      schema['x-deep-object'] === true
        ? `/** ${schema.description} */\n${key}?: Record<string, string | number | boolean>`
        : types.property(key, schema, required),
    )
    types.declarations.set(params, `export type ${params} = {\n${lines.join('\n')}\n}`)
  }
  const signature = (
    extra: string | undefined,
    result: string,
    isRequired = required.length > 0,
  ): Signature => ({
    parameters: [
      ...positions,
      ...(params === undefined
        ? []
        : [`params${isRequired ? '' : '?'}: ${params}${extra === undefined ? '' : ` & ${extra}`}`]),
      'options?: RequestOptions',
    ].join(', '),
    result,
  })

  const signatures: Signature[] = []
  if (creates === true)
    signatures.push(signature('{ dry_run: true }', `Promise<${types.typeOf(schemaOf(Quote))}>`, true))
  const has = (key: string) => given.some(([present]) => present === key)
  const events = answer.events && types.nameOf(schemaOf(answer.events), `${capitalize(id)}Event`)
  if (events !== undefined && has('stream'))
    signatures.push(signature('{ stream: true }', `EventStream<${events}>`, true))
  if (events !== undefined && has('stream_format'))
    signatures.push(signature("{ stream_format: 'sse' }", `EventStream<${events}>`, true))
  const texts = answer.texts === true || answer.pages === true ? textFormats(given) : undefined
  if (texts !== undefined) {
    const formats = texts.formats.map((format) => JSON.stringify(format)).join(' | ')
    signatures.push(signature(`{ ${texts.name}: ${formats} }`, 'Promise<string>', true))
  }
  signatures.push(signature(creates === true ? '{ dry_run?: false }' : undefined, resultOf(operation, types)))
  const key = name.split('.').at(-1)
  return [
    `/** ${summary}: \`${method} ${path}\`. */`,
    ...signatures.map(({ parameters, result }) => `${key}(${parameters}): ${result}`),
  ].join('\n')
}

const resultOf = (operation: Operation, types: TypeWriter): string => {
  const { id, answer } = operation
  const kind = responseKindOf(operation)
  if (kind === 'file') return 'Promise<MediaFile>'
  if (kind === 'text') return 'Promise<string>'
  if (kind === 'events') return `EventStream<${types.typeOf(schemaOf(answer.events))}>`
  const schema = schemaOf(answer.schema)
  const [only = schema, ...more] = (schema.anyOf ?? []).filter((choice) => !isOfOpenAi(choice))
  const shown = more.length === 0 ? only : schema
  if (shown.type === 'object' && Object.keys(shown.properties ?? {}).length === 0)
    return 'Promise<Record<string, unknown>>'
  const name = types.nameOf(shown, `${capitalize(id)}Response`)
  const item = shown.properties?.['object']?.const === 'list' ? shown.properties['data']?.items : undefined
  return item === undefined
    ? `Promise<${name}>`
    : `List<${name}, ${types.nameOf(item, `${capitalize(id)}Item`)}>`
}

interface Group {
  methods: string[]
  groups: Map<string, Group>
}

const newGroup = (): Group => ({ methods: [], groups: new Map() })

const writeGroup = ({ methods, groups }: Group): string =>
  ['{', ...methods, ...[...groups].map(([name, group]) => `${name}: ${writeGroup(group)}`), '}'].join('\n')

const importedTypes = {
  EventStream: 'event-stream',
  List: 'list',
  MediaFile: 'media-file',
  RequestOptions: 'transport',
  Upload: 'upload',
}

const writeImports = (body: string): string[] =>
  Object.entries(importedTypes).flatMap(([name, file]) =>
    new RegExp(`\\b${name}\\b`).test(body) ? `import type { ${name} } from '../${file}.ts'` : [],
  )

/** The types, the interface of the methods and the table that the methods are made from. */
const writeApi = (
  table: Record<string, Operation>,
  methods: Record<string, string>,
  interfaceName: string,
  tableName: string,
  extra: Schema[],
): { types: string; table: string } => {
  const types = new TypeWriter()
  const root = newGroup()
  const rows = new Map<string, string>()
  for (const schema of extra) types.typeOf(schema)
  for (const operation of Object.values(table)) {
    const name = methods[operation.id]
    if (name === undefined) throw new Error(`${operation.id} has no method in contract/src/client-methods.ts`)
    // The first operation of a method is the one that it calls.
    if (rows.has(name)) continue
    const flags = flagsOf(operation)
    rows.set(name, `${operation.method} ${operation.path}${flags === '' ? '' : ` ${flags}`}`)
    const group = name
      .split('.')
      .slice(0, -1)
      .reduce((parent, key) => {
        const child = parent.groups.get(key) ?? newGroup()
        parent.groups.set(key, child)
        return child
      }, root)
    group.methods.push(writeMethod(operation, name, types))
  }
  const lines = [...rows].map(([name, row]) => `'${name}': '${row}',`)
  const body = [
    ...types.declarations.values(),
    '',
    `export interface ${interfaceName} ${writeGroup(root)}`,
  ].join('\n')
  return {
    types: [note, ...writeImports(body), '', body, ''].join('\n'),
    table: [
      note,
      '/** Method, path, and q: has a query, b: a body, c: creates, f: accepts a form, o: only a form, d: returns a file, l: a list, e: events. */',
      `export const ${tableName} = {`,
      ...lines,
      '} as const',
      '',
    ].join('\n'),
  }
}

const quoted = (names: string[]) => names.map((name) => `'${name}'`).join(' | ')

/** The generated files of the client by their path. */
export const clientFiles = (): Record<string, string> => {
  const shared = writeApi(operations, clientMethods, 'Methods', 'methodTable', [schemaOf(Event)])
  const admin = writeApi(adminOperations, adminClientMethods, 'AdminMethods', 'adminMethodTable', [])
  const folder = 'client/src/generated'
  return {
    [`${folder}/types.ts`]: shared.types,
    [`${folder}/method-table.ts`]: shared.table,
    [`${folder}/admin-types.ts`]: admin.types,
    [`${folder}/admin-method-table.ts`]: admin.table,
    [`${folder}/error-codes.ts`]: [
      note,
      '/** Codes of error responses. */',
      `export type ErrorCode = ${quoted(Object.keys(errors))}`,
      '/** Codes of tasks that failed. */',
      `export type TaskErrorCode = ${quoted(Object.keys(taskErrors))}`,
      '',
    ].join('\n'),
  }
}
