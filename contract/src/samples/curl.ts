import type { Example } from '../examples.ts'
import type { Operation } from '../operation.ts'
import { fileIn, fileNameOf } from './sample-files.ts'

const lineCharactersMax = 90

/** A word for a shell. */
export const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Ids keep their colons, which are allowed in URLs. */
const encoded = (text: string) => encodeURIComponent(text).replaceAll('%3A', ':')

const urlOf = ({ path, parameters }: Operation, given: Record<string, string>) => {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encoded(given[name] ?? ''))
  const query = Object.entries(given).filter(([name]) => !Object.hasOwn(parameters?.path ?? {}, name))
  const pairs = query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
  return `"$KINORA_URL${filled}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}"`
}

const formField = ([name, value]: [string, unknown]): string[] => {
  // An item of a list is a field of its own.
  if (Array.isArray(value)) return value.flatMap((item) => formField([`${name}[]`, item]))
  const file = fileIn(value)
  if (file !== undefined) return [`-F ${name}=@${file}`]
  const text = String(value)
  // In these, -F would see a file or an option.
  const option = /^[@<]|;/.test(text) ? '--form-string' : '-F'
  const field = `${name}=${text}`
  return [`${option} ${/^[\w.-]+=[\w.-]+$/.test(field) ? field : quoteForShell(field)}`]
}

const bodyOptions = ({ contentType, body }: Example['request']): string[] => {
  if (body === undefined) return []
  if (contentType !== 'application/json') return Object.entries(body as object).flatMap(formField)
  const line = JSON.stringify(body)
  const text = line.length > lineCharactersMax ? JSON.stringify(body, null, 2) : line
  return [`-H 'Content-Type: application/json'`, `-d ${quoteForShell(text)}`]
}

const outputOptions = ({ contentType }: Example['response']): string[] => {
  if (contentType === 'text/event-stream') return ['--no-buffer']
  return /^(?:application\/json|text\/)/.test(contentType) ? [] : [`--output ${fileNameOf(contentType)}`]
}

export const writeCurl = (operation: Operation, { request, response }: Example): string => {
  const { method, access } = operation
  const isDefaultMethod = method === (request.body === undefined ? 'GET' : 'POST')
  const takesKey = access === 'key' || access === 'operator'
  return [
    `curl ${isDefaultMethod ? '' : `-X ${method} `}${urlOf(operation, request.parameters)}`,
    ...(takesKey ? ['-H "Authorization: Bearer $KINORA_API_KEY"'] : []),
    ...bodyOptions(request),
    ...outputOptions(response),
  ].join(' \\\n  ')
}
