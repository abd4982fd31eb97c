/** Calls of `@kinora/client`, which has a method for every operation. */
import { clientMethodOf } from '../client-methods.ts'
import type { Example } from '../examples.ts'
import type { Operation } from '../operation.ts'
import { typescript, writeLiteral, type Notation } from './notation.ts'
import { responseKindOf } from './response-kind.ts'
import { fileNameOf } from './sample-files.ts'
import type { WriteParts } from './sample-parts.ts'

const lineCharactersMax = 80

const notation: Notation = { ...typescript, file: (name) => `{ path: '${name}' }` }

/** A task has only begun when these respond. */
const videoCreates = new Set(['createVideo', 'remixVideo', 'editVideo'])

/** The recorded text of a parameter as the type of its schema. */
const readParameter = (schema: unknown, text: string): unknown => {
  const { type } = (schema ?? {}) as { type?: unknown }
  if (type === 'number' || type === 'integer') return Number(text)
  return type === 'boolean' ? text === 'true' : text
}

/** The path parameters, and then one object with the other parameters and the fields of the body. */
const writeArguments = (operation: Operation, { request }: Example): string => {
  const { path = {}, query, optionalQuery } = operation.parameters ?? {}
  const schemas: Record<string, unknown> = { ...query, ...optionalQuery }
  // The client requests the pages of a list by itself.
  const isLeftOut = (name: string) => name === 'limit' && responseKindOf(operation) === 'list'
  const named = Object.entries(request.parameters)
    .filter(([name]) => !Object.hasOwn(path, name) && !isLeftOut(name))
    .map(([name, text]) => [name, readParameter(schemas[name], text)])
  const fields = { ...Object.fromEntries(named), ...(request.body as object | undefined) }
  const positions = Object.keys(path).map((name) => writeLiteral(request.parameters[name] ?? '', notation))
  if (Object.keys(fields).length === 0) return positions.join(', ')
  const charactersLeft = lineCharactersMax - positions.join(', ').length - operation.id.length
  return [...positions, writeLiteral(fields, notation, charactersLeft)].join(', ')
}

const useResult = (operation: Operation, { response }: Example, call: string): string[] => {
  if (videoCreates.has(operation.id)) {
    return [
      `const { id } = await ${call}`,
      'const video = await kinora.videos.watch(id)',
      `await video.save('video.mp4')`,
    ]
  }
  switch (responseKindOf(operation)) {
    case 'list':
      return [`for await (const item of ${call}) console.log(item)`]
    case 'events':
      return [`for await (const event of ${call}) console.log(event)`]
    case 'file': {
      // A read of a video in JSON has the link to its file.
      const type = response.contentType === 'application/json' ? 'video/mp4' : response.contentType
      return [`const file = await ${call}`, `await file.save('${fileNameOf(type)}')`]
    }
    default:
      return call.length > lineCharactersMax
        ? [`const result = await ${call}`, 'console.log(result)']
        : [`console.log(await ${call})`]
  }
}

export const clientParts: WriteParts = (operation, example) => {
  const method = clientMethodOf(operation)
  if (method === undefined) return undefined
  const [name, variable, path] =
    operation.access === 'operator' ? ['KinoraAdmin', 'admin', '/admin'] : ['Kinora', 'kinora', '']
  const call = `${variable}.${method}(${writeArguments(operation, example)})`
  return {
    imports: [`import { ${name} } from '@kinora/client${path}'`],
    code: [
      `const ${variable} = new ${name}({`,
      '  baseUrl: process.env.KINORA_URL,',
      '  apiKey: process.env.KINORA_API_KEY,',
      '})',
      ...useResult(operation, example, call),
    ].join('\n'),
  }
}
