/** Code that sends the request of a form. `KINORA_URL` and `KINORA_API_KEY` stand for the service and a key. */
import { quoteForShell } from '@kinora/contract/samples/curl'
import { python, typescript, writeLiteral } from '@kinora/contract/samples/notation'

import type { CodeLanguage } from '../../code/code-panels.tsx'
import { buildFields, type VideoForm } from '../form.ts'
import { taskPath, type Offer } from '../offers.ts'

/** What the code sends. */
export interface CodeRequest {
  kind: 'video' | 'task' | 'remix'
  /** Of a remix. */
  sourceId: string
  fields: Record<string, unknown>
  /** Names of files with images. */
  images: { name: string; type: string }[]
}

/** A name for a file that needs no quotes. */
const cleanName = (name: string, index: number): string => {
  const clean = name.replaceAll(/[^\w.-]+/g, '-').replace(/^[-.]+/, '')
  return clean === '' ? `image-${index + 1}.png` : clean
}

const readCodeRequest = (form: VideoForm, offer: Offer): CodeRequest => ({
  kind: offer.endpoint === taskPath ? 'task' : 'video',
  sourceId: '',
  fields: buildFields({ ...form, images: [] }, offer, []),
  images: form.images.map(({ name, file }, index) => ({ name: cleanName(name, index), type: file.type })),
})

const withImageRoles = (form: VideoForm, offer: Offer, request: CodeRequest): CodeRequest => {
  const { image_roles: roles } = buildFields(form, offer, request.images)
  return roles === undefined ? request : { ...request, fields: { ...request.fields, image_roles: roles } }
}

export const readRequest = (form: VideoForm, offer: Offer): CodeRequest =>
  withImageRoles(form, offer, readCodeRequest(form, offer))

const pathOf = ({ kind, sourceId }: CodeRequest): string =>
  ({ video: '/v1/videos', task: '/v1/video/create', remix: `/v1/videos/${sourceId}/remix` })[kind]

const joinLines = (lines: string[]) => lines.join(' \\\n  ')

/** In a document of the shell, these have a meaning. */
const quoteForDocument = (text: string) => text.replaceAll(/[\\$`]/g, String.raw`\$&`)

const writeCurl = (request: CodeRequest): string => {
  const head = [`curl "$KINORA_URL${pathOf(request)}"`, '-H "Authorization: Bearer $KINORA_API_KEY"']
  if (request.kind === 'video')
    return joinLines([
      ...head,
      ...Object.entries(request.fields).map(([name, value]) => {
        const text = String(value)
        const isPlain = /^[\w.-]+$/.test(text)
        return isPlain ? `-F ${name}=${text}` : `--form-string ${quoteForShell(`${name}=${text}`)}`
      }),
      ...request.images.map(({ name }) => `-F input_reference=@${name}`),
    ])
  const json = [...head, `-H 'Content-Type: application/json'`]
  if (request.images.length === 0)
    return joinLines([...json, `-d ${quoteForShell(JSON.stringify(request.fields, null, 2))}`])
  const text = quoteForDocument(JSON.stringify(request.fields, null, 2))
  const images = request.images.map(
    ({ name, type }) => `"data:${type};base64,$(base64 < ${name} | tr -d '\\n')"`,
  )
  const body = text.replace(/\n\}$/, `,\n  "images": [${images.join(', ')}]\n}`)
  return `${joinLines([...json, '-d @- <<REQUEST'])}\n${body}\nREQUEST`
}

const indentLines = (lines: string[]) => lines.map((line) => `  ${line},`)

const writeFields = (fields: Record<string, unknown>): string[] =>
  Object.entries(fields).map(([name, value]) => `${name}: ${writeLiteral(value, typescript)}`)

const environment = ['process.env.KINORA_URL', 'process.env.KINORA_API_KEY'] as const

const dataUris = ({ images }: CodeRequest) =>
  images.map(({ name, type }) => `\`data:${type};base64,\${await readFile('${name}', 'base64')}\``)

const writeClient = (request: CodeRequest): string => {
  const { kind, sourceId, fields, images } = request
  const files = images.map(({ name }) => `{ path: '${name}' }`)
  const given = [
    ...writeFields(fields),
    ...(kind === 'video' && files.length > 0
      ? [`input_reference: ${files.length === 1 ? files[0] : `[${files.join(', ')}]`}`]
      : []),
    ...(kind === 'task' && files.length > 0 ? [`images: [${dataUris(request).join(', ')}]`] : []),
  ]
  const call = {
    video: ['const video = await kinora.videos.run({', ...indentLines(given), '})'],
    remix: [
      `const video = await kinora.videos.runRemix(${typescript.text(sourceId)}, {`,
      ...indentLines(given),
      '})',
    ],
    task: [
      'const { id } = await kinora.videoTasks.create({',
      ...indentLines(given),
      '})',
      'const video = await kinora.videos.watch(id)',
    ],
  }[kind]
  return [
    ...(kind === 'task' && files.length > 0 ? [`import { readFile } from 'node:fs/promises'`] : []),
    `import { Kinora } from '@kinora/client'`,
    '',
    'const kinora = new Kinora({',
    ...indentLines([`baseUrl: ${environment[0]}`, `apiKey: ${environment[1]}`]),
    '})',
    ...call,
    `await video.save('video.mp4')`,
  ].join('\n')
}

/** The packages take the duration as text, and the rest as it is. */
const declaredFields = ['model', 'prompt', 'seconds', 'size']

const splitFields = (fields: Record<string, unknown>) => {
  const entries = Object.entries(fields)
  return {
    declared: entries
      .filter(([name]) => declaredFields.includes(name))
      .map(([name, value]): [string, unknown] => [name, name === 'seconds' ? String(value) : value]),
    other: entries.filter(([name]) => !declaredFields.includes(name)),
  }
}

/** They have no call for tasks, and send several images under a name of their own. */
const canUseOpenAi = ({ kind, images, fields }: CodeRequest) =>
  kind === 'remix' ? fields['size'] === undefined : kind === 'video' && images.length < 2

const writeOpenAiTypescript = (request: CodeRequest): string | undefined => {
  if (!canUseOpenAi(request)) return undefined
  const { kind, sourceId, fields, images } = request
  const { declared, other } = splitFields(fields)
  const given = [
    ...[...declared, ...other].map(([name, value]) => `${name}: ${writeLiteral(value, typescript)}`),
    ...images.map(({ name }) => `input_reference: createReadStream('${name}')`),
  ]
  const head = kind === 'remix' ? `remix(${typescript.text(sourceId)}, {` : 'create({'
  return [
    ...(images.length > 0 ? [`import { createReadStream } from 'node:fs'`] : []),
    `import OpenAI from 'openai'`,
    '',
    'const client = new OpenAI({',
    ...indentLines([`baseURL: \`\${${environment[0]}}/openai/v1\``, `apiKey: ${environment[1]}`]),
    '})',
    `const video = await client.videos.${head}`,
    ...indentLines(given),
    '})',
    'console.log(video.id, video.status)',
  ].join('\n')
}

const writeOpenAiPython = (request: CodeRequest): string | undefined => {
  if (!canUseOpenAi(request)) return undefined
  const { kind, sourceId, fields, images } = request
  const { declared, other } = splitFields(fields)
  const given = [
    ...(kind === 'remix' ? [python.text(sourceId)] : []),
    ...declared.map(([name, value]) => `${name}=${writeLiteral(value, python)}`),
    ...images.map(({ name }) => `input_reference=open("${name}", "rb")`),
    ...(other.length > 0 ? [`extra_body=${writeLiteral(Object.fromEntries(other), python)}`] : []),
  ]
  return [
    'import os',
    'from openai import OpenAI',
    '',
    'client = OpenAI(',
    '    base_url=os.environ["KINORA_URL"] + "/openai/v1",',
    '    api_key=os.environ["KINORA_API_KEY"],',
    ')',
    `video = client.videos.${kind === 'remix' ? 'remix' : 'create'}(`,
    ...given.map((line) => `    ${line},`),
    ')',
    'print(video.id, video.status)',
  ].join('\n')
}

const writeCommand = ({ kind, sourceId, fields, images }: CodeRequest): string | undefined => {
  const known = ['model', 'prompt', 'seconds', 'size']
  if (kind === 'task' || Object.keys(fields).some((name) => !known.includes(name))) return undefined
  const quoted = (value: unknown) => {
    const text = String(value)
    return /^[\w.:/,]+$/.test(text) ? text : quoteForShell(text)
  }
  const options = ['model', 'seconds', 'size'].flatMap((name) =>
    fields[name] === undefined ? [] : [`--${name} ${quoted(fields[name])}`],
  )
  return joinLines([
    kind === 'remix'
      ? `kinora video remix ${quoted(sourceId)} ${quoted(fields['prompt'])}`
      : `kinora video create ${quoted(fields['prompt'])}`,
    ...options,
    ...images.map(({ name }) => `--image ${name}`),
    '-o video.mp4',
  ])
}

/** Undefined if the language has no call for the request. */
export const writeCode = (request: CodeRequest, language: CodeLanguage): string | undefined =>
  ({
    curl: writeCurl,
    typescript: writeOpenAiTypescript,
    python: writeOpenAiPython,
    client: writeClient,
    cli: writeCommand,
  })[language](request)
