/** Forms are built from the protocols, so each must describe what `setProvider` accepts. */
import type { ProviderProtocol } from '@kinora/contract/operations/admin/provider-protocols'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { protocols } from '../../src/providers/registry.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let operator: Operator
let listed: ProviderProtocol[]

beforeAll(async () => {
  gateway = await startGateway({ CREDENTIAL_SECRETS: 'secret-for-sealing-keys-of-providers' })
  operator = await createOperator(gateway)
  listed = (await operator.call('listProviderProtocols')).data
})
afterAll(() => gateway[Symbol.asyncDispose]())

test('lists every protocol', () => {
  expect(listed.map(({ kind }) => kind)).toEqual(Object.keys(protocols))
})

test('every field has a label and a help text that an operator can read', () => {
  for (const { fields } of listed) {
    for (const { name, label, description } of fields) {
      expect(name).toMatch(/^[a-z][a-z_0-9]*$/)
      expect(label).toMatch(/^[A-Z]/)
      expect(description).toMatch(/^[A-Z].*\.$/)
      // Names of the providers file.
      expect(description).not.toMatch(/\b[a-z]+[A-Z][a-z]/)
    }
  }
})

test('only the key is secret, and it has no default', () => {
  for (const { fields } of listed) {
    expect(fields.filter(({ secret }) => secret)).toEqual([
      expect.objectContaining({ name: 'api_key', default: null, in_settings: false }),
    ])
  }
})

test('choices have their values', () => {
  const openai = listed.find(({ kind }) => kind === 'openai')
  expect(openai?.fields.find(({ name }) => name === 'results')).toMatchObject({
    ...{ in_settings: true, required: false, default: 'bytes' },
    schema: { type: 'string', enum: ['bytes', 'link'] },
  })
  expect(openai?.fields.find(({ name }) => name === 'base_url')).toMatchObject({ required: true })
})

test('a provider can do what its protocol promises', () => {
  const connection = { name: 'x', baseUrl: 'https://x.example', apiKey: 'key', connections: 1 }
  const kinds = { video: 'video', speech: 'speech', transcription: 'transcription', dialogue: 'chat' }
  for (const { kind, capabilities, fields } of listed) {
    const settings = Object.fromEntries(
      fields.flatMap(({ name, in_settings: isOwn, example }) => {
        const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
        return isOwn && example !== null ? [[camel, example]] : []
      }),
    )
    const connected = protocols[kind]?.connect(
      { ...connection, resultOrigins: [], ffmpegPath: 'ffmpeg' },
      settings as never,
    )
    const found = Object.entries(kinds).flatMap(([name, as]) => (name in (connected ?? {}) ? [as] : []))
    expect(found.toSorted()).toEqual(capabilities.toSorted())
  }
})

test('the example of each protocol is accepted', async () => {
  for (const { kind, example } of listed) {
    const body = { enabled: false, ...example }
    const provider = await operator.call('setProvider', { id: `example-${kind}`, body })
    expect(provider).toMatchObject({ kind, problem: null })
  }
})

test('every field with a default accepts it', async () => {
  for (const { kind, fields, example } of listed) {
    const defaults = fields.filter((field) => field.default !== null)
    const entry = (field: ProviderProtocol['fields'][number]) => [field.name, field.default]
    const own = Object.fromEntries(defaults.filter((field) => field.in_settings).map(entry))
    // A budget is only stopped at if there is one.
    const common = Object.fromEntries(defaults.filter((field) => !field.in_settings).map(entry))
    const body = { ...common, ...example, settings: { ...own, ...(example['settings'] as object) } }
    await operator.call('setProvider', { id: `defaults-${kind}`, body })
  }
})

test('every kind of model has its settings, with labels and help', async () => {
  const { data } = await operator.call('listModelKinds')
  expect(data.map(({ kind }: { kind: string }) => kind)).toEqual(['video', 'speech', 'transcription', 'chat'])
  for (const { fields } of data) {
    for (const { name, label, description, schema } of fields) {
      expect(name).toMatch(/^[a-z][a-z_0-9]*$/)
      expect(label).toMatch(/^[A-Z]/)
      expect(description).toMatch(/^[A-Z`].*\.$/)
      expect(description).not.toMatch(/\]\(/)
      expect(Object.keys(schema).length).toBeGreaterThan(0)
    }
  }
})

test('the required settings of a kind, by their examples, make a model', async () => {
  const { data } = await operator.call('listModelKinds')
  const { fields } = data.find(({ kind }: { kind: string }) => kind === 'video')
  const given = fields.filter(
    ({ name, required }: { name: string; required: boolean }) =>
      required || ['seconds', 'sizes'].includes(name),
  )
  const settings = Object.fromEntries(
    given.map(({ name, example }: { name: string; example: unknown }) => [name, example]),
  )
  const model = await operator.call('setModelEntry', {
    id: 'clip-of-a-form',
    body: { settings: { kind: 'video', ...settings } },
  })
  expect(model).toMatchObject({ kind: 'video', problem: null })
})
