/** What the official `openai` package offers and this service does not: each call is rejected once, with the reason. */
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'

import {
  checkedInRows,
  readCompatibility,
  sortRows,
  type CompatibilityRow,
} from '../../../tools/compatibility.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { methodsByGroup, rowOf } from '../kit/openai-methods.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

const provedBy = 'gateway/test/operations/openai-scope.test.ts'

let gateway: TestGateway
let client: OpenAI
let requests = 0
const found: CompatibilityRow[] = []

beforeAll(async () => {
  gateway = await startGateway()
  const key = await createKey(gateway.database.postgres, await createAccount(gateway.database.postgres))
  const counting: typeof fetch = (url, init) => {
    // The package first tries once whether this function takes forms.
    if (typeof url === 'string' && url.startsWith(gateway.url)) requests += 1
    return fetch(url, init)
  }
  // Retries as by default, so that a call that is retried is noticed.
  client = new OpenAI({
    ...{ apiKey: key.text, adminAPIKey: key.text },
    ...{ baseURL: `${gateway.url}/openai/v1`, fetch: counting },
  })
})
afterAll(() => gateway[Symbol.asyncDispose]())

/** Groups with methods that work. */
const inScope = new Set(['videos', 'audio', 'chat', 'models', 'webhooks'])

/** Expects that the call is rejected at once with a reason, and returns the reason. */
const reasonOf = async (call: () => unknown): Promise<string> => {
  requests = 0
  const error = await Promise.resolve(call()).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof OpenAI.APIError)) throw new Error('the call was not rejected', { cause: error })
  const { code, message } = error
  const headers = error.headers as Headers
  expect(code).toMatch(/^(endpoint_not_found|method_not_allowed)$/)
  expect(message).not.toContain('No endpoint at')
  expect(headers.get('x-should-retry')).toBe('false')
  expect(requests).toBe(1)
  return message.replace(/^\d+ /, '')
}

const video = () => toFile(Buffer.from('x'), 'video.mp4')

const rejected: Record<string, () => unknown> = {
  'videos.extend': async () => client.videos.extend({ prompt: 'On', seconds: '4', video: await video() }),
  'videos.createCharacter': async () => client.videos.createCharacter({ name: 'Mia', video: await video() }),
  'videos.getCharacter': () => client.videos.getCharacter('char_1'),
  'audio.voices.create': async () =>
    client.audio.voices.create({ name: 'Mia', audio_sample: await video(), consent: 'cons_1' }),
  'audio.voices.delete': () => client.audio.voices.delete('voice_1'),
  'audio.voiceConsents.create': async () =>
    client.audio.voiceConsents.create({ name: 'Mia', recording: await video(), language: 'en' }),
  'audio.voiceConsents.retrieve': () => client.audio.voiceConsents.retrieve('cons_1'),
  'audio.voiceConsents.update': () => client.audio.voiceConsents.update('cons_1', { name: 'Mia' }),
  'audio.voiceConsents.list': () => client.audio.voiceConsents.list(),
  'audio.voiceConsents.delete': () => client.audio.voiceConsents.delete('cons_1'),
  'chat.completions.retrieve': () => client.chat.completions.retrieve('chatcmpl-1'),
  'chat.completions.update': () => client.chat.completions.update('chatcmpl-1', { metadata: {} }),
  'chat.completions.list': () => client.chat.completions.list(),
  'chat.completions.delete': () => client.chat.completions.delete('chatcmpl-1'),
  'chat.completions.messages.list': () => client.chat.completions.messages.list('chatcmpl-1'),
  'models.delete': () => client.models.delete('vidB-2'),
}

test.each(Object.entries(rejected))('%s is rejected with the reason', async (name, call) => {
  found.push(rowOf(provedBy, name, 'rejected', await reasonOf(call)))
})

/** One call of each group without a method that works. Any other path of a group has the same reason. */
const groups: Record<string, () => unknown> = {
  responses: () => client.responses.create({ model: 'vidB-2', input: 'A whale' }),
  images: () => client.images.generate({ prompt: 'A whale' }),
  embeddings: () => client.embeddings.create({ model: 'vidB-2', input: 'A whale' }),
  completions: () => client.completions.create({ model: 'vidB-2', prompt: 'A whale' }),
  moderations: () => client.moderations.create({ input: 'A whale' }),
  files: () => client.files.list(),
  uploads: () =>
    client.uploads.create({ bytes: 1, filename: 'a', mime_type: 'text/plain', purpose: 'batch' }),
  vectorStores: () => client.vectorStores.list(),
  containers: () => client.containers.list(),
  batches: () => client.batches.list(),
  fineTuning: () => client.fineTuning.jobs.list(),
  evals: () => client.evals.list(),
  conversations: () => client.conversations.create(),
  skills: () => client.skills.list(),
  live: () => client.live.sessions.hangup('sess_1'),
  realtime: () => client.realtime.clientSecrets.create({}),
  admin: () => client.admin.organization.projects.list(),
  safety: () => client.safety.alerts.retrieve('alert_1'),
  beta: () => client.beta.assistants.list(),
  decisions: () => client.post('/decisions'),
  contentProvenanceChecks: () => client.post('/content_provenance_checks'),
}

test('every group without a method that works is called', () => {
  const all = [...methodsByGroup(client)].filter(([, methods]) => methods.length > 0).map(([group]) => group)
  expect(new Set(all.filter((group) => !inScope.has(group)))).toEqual(
    // Graders have no methods.
    new Set(Object.keys(groups)),
  )
})

test.each(Object.entries(groups))('%s is out of scope, with the reason', async (group, call) => {
  found.push(rowOf(provedBy, `${group}.*`, 'rejected', await reasonOf(call)))
})

test('docs/compatibility.json has exactly these rows', () => {
  expect(sortRows(found)).toEqual(sortRows(checkedInRows(provedBy, found)))
})

test('every method of the other groups has a row', () => {
  const rows = readCompatibility().filter(({ library }) => library === 'openai-node')
  const methods = [...methodsByGroup(client)].flatMap(([group, names]) => (inScope.has(group) ? names : []))
  const calls = rows.map(({ call }) => call).filter((call) => !call.endsWith('.*'))
  expect(calls.toSorted()).toEqual(methods.toSorted())
})
