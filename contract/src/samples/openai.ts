/** Calls of the official `openai` packages, which use the base URL `/openai/v1`. */
import type { Example } from '../examples.ts'
import type { Operation } from '../operation.ts'
import { indent, python, typescript, writeLiteral } from './notation.ts'
import { fileIn, fileNameOf } from './sample-files.ts'
import type { WriteParts } from './sample-parts.ts'

/** One call, in the names of the TypeScript package. Those of the Python package are the same in snake case. */
interface OpenAiCall {
  method: string
  /** The name for the result. */
  result: string
  /** The call takes the id of the path as its first argument. */
  byId?: true
  fields?: (request: { body: Record<string, unknown> }) => Record<string, unknown>
  /** What to print of the result; otherwise it is saved as a file. */
  print?: string
}

type Fields = NonNullable<OpenAiCall['fields']>

/** Fields of the recorded body that the package declares too. */
const pick =
  (...names: string[]): Fields =>
  ({ body }) =>
    Object.fromEntries(names.flatMap((name) => (name in body ? [[name, body[name]]] : [])))

const video = { result: 'video', print: '.status' }
const transcript = {
  result: 'transcript',
  print: '.text',
  fields: pick('model', 'file', 'language', 'prompt', 'response_format', 'timestamp_granularities'),
}
const endpoint = { result: 'endpoint', print: '' }

/** By the id of the operation. An operation without a row has no call in these packages. */
const calls: Record<string, OpenAiCall> = {
  createVideo: {
    ...video,
    method: 'videos.create',
    fields: ({ body: { model, prompt, seconds } }) => ({ model, prompt, seconds: String(seconds) }),
  },
  getVideo: { ...video, method: 'videos.retrieve', byId: true },
  listVideos: { method: 'videos.list', result: 'page', fields: () => ({ limit: 20 }), print: '.data' },
  deleteVideo: { method: 'videos.delete', result: 'deleted', byId: true, print: '.deleted' },
  getVideoContent: { method: 'videos.downloadContent', result: 'content', byId: true },
  remixVideo: { ...video, method: 'videos.remix', byId: true, fields: pick('prompt') },
  editVideo: { ...video, method: 'videos.edit', fields: pick('prompt', 'video') },
  completeChat: {
    method: 'chat.completions.create',
    result: 'completion',
    fields: pick('model', 'messages', 'modalities', 'audio'),
    print: '.choices',
  },
  createTranscription: { ...transcript, method: 'audio.transcriptions.create' },
  createTranslation: { ...transcript, method: 'audio.translations.create' },
  createSpeech: {
    method: 'audio.speech.create',
    result: 'speech',
    fields: pick('model', 'input', 'voice', 'response_format', 'speed', 'instructions'),
  },
  listModels: { method: 'models.list', result: 'page', print: '.data' },
  getModel: { method: 'models.retrieve', result: 'model', byId: true, print: '' },
  createWebhookEndpoint: {
    ...endpoint,
    method: 'webhooks.create',
    fields: ({ body: { url, events } }) => ({ url, name: 'Production', event_types: events }),
  },
  listWebhookEndpoints: { method: 'webhooks.list', result: 'page', print: '.data' },
  getWebhookEndpoint: { ...endpoint, method: 'webhooks.retrieve', byId: true },
  updateWebhookEndpoint: { ...endpoint, method: 'webhooks.update', byId: true, fields: pick('name') },
  deleteWebhookEndpoint: { method: 'webhooks.delete', result: 'deleted', byId: true, print: '' },
  rotateWebhookEndpointSecret: { ...endpoint, method: 'webhooks.rotateSecret', byId: true },
  testWebhookEndpoint: {
    method: 'webhooks.test',
    result: 'test',
    byId: true,
    fields: ({ body: { type } }) => ({ event_type: type }),
    print: '',
  },
}

interface Argued extends OpenAiCall {
  id: string | undefined
  named: [string, unknown][]
  /** The name of the file that holds the result. */
  output: string
}

const callOf = ({ id }: Operation, { request, response }: Example): Argued | undefined => {
  const call = calls[id]
  if (call === undefined) return undefined
  const body = (request.body ?? {}) as Record<string, unknown>
  return {
    ...call,
    id: call.byId === true ? request.parameters['id'] : undefined,
    named: Object.entries(call.fields?.({ body }) ?? {}),
    // A read of a video in JSON has the link to its file.
    output: fileNameOf(response.contentType === 'application/json' ? 'video/mp4' : response.contentType),
  }
}

const lines = (...given: (string | string[])[]) => given.flat().join('\n')

const typescriptClient = [
  'const client = new OpenAI({',
  '  apiKey: process.env.KINORA_API_KEY,',
  '  baseURL: `${process.env.KINORA_URL}/openai/v1`,',
  '})',
]

export const openAiTypescriptParts: WriteParts = (operation, example) => {
  const call = callOf(operation, example)
  if (call === undefined) return undefined
  const { method, result, id, named, print, output } = call
  const fields = named.map(([name, value]) => `${indent(`${name}: ${writeLiteral(value, typescript)}`)},`)
  const head = `const ${result} = await client.${method}(${id === undefined ? '' : typescript.text(id)}`
  const object =
    fields.length === 0 ? [`${head})`] : [`${head}${id === undefined ? '' : ', '}{`, ...fields, '})']
  const readsFile = named.some(([, value]) => fileIn(value) !== undefined)
  return {
    imports: [
      ...(readsFile ? [`import { createReadStream } from 'node:fs'`] : []),
      ...(print === undefined ? [`import { writeFile } from 'node:fs/promises'`] : []),
      `import OpenAI from 'openai'`,
    ],
    code: lines(
      typescriptClient,
      object,
      print === undefined
        ? `await writeFile('${output}', Buffer.from(await ${result}.arrayBuffer()))`
        : `console.log(${result}${print})`,
    ),
  }
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export const writeOpenAiPython = (operation: Operation, example: Example): string | undefined => {
  const call = callOf(operation, example)
  if (call === undefined) return undefined
  const { method, result, id, named, print, output } = call
  const given = [
    ...(id === undefined ? [] : [`    ${python.text(id)},`]),
    ...named.map(([name, value]) => `    ${name}=${writeLiteral(value, python)},`),
  ]
  const head = `${result} = client.${snakeCase(method)}(`
  return lines(
    'import os',
    'from openai import OpenAI',
    '',
    'client = OpenAI(',
    '    api_key=os.environ["KINORA_API_KEY"],',
    '    base_url=os.environ["KINORA_URL"] + "/openai/v1",',
    ')',
    given.length === 0 ? `${head})` : [head, ...given, ')'],
    print === undefined ? `${result}.write_to_file("${output}")` : `print(${result}${print})`,
  )
}
