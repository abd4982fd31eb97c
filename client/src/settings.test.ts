/** Which service a client calls, with which key. */
import { afterEach, expect, test, vi } from 'vitest'

import { Kinora } from './index.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

const names = ['KINORA_URL', 'KINORA_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_API_KEY']

/** The address and the credential of a request with these variables. */
const callWith = async (environment: Record<string, string>, options = {}) => {
  for (const name of names) vi.stubEnv(name, environment[name])
  let sent: { url: string; key: string | null } | undefined
  const kinora = new Kinora({
    ...options,
    fetch: async (url, { headers }) => {
      sent = { url: url, key: new Headers(headers).get('authorization') }
      return Response.json({})
    },
  })
  await kinora.me.get()
  return sent
}

test('the environment names the service and the key', async () => {
  const environment = { KINORA_URL: 'https://media.example/', KINORA_API_KEY: 'sk-1' }
  expect(await callWith(environment)).toEqual({ url: 'https://media.example/v1/me', key: 'Bearer sk-1' })
  const options = { baseUrl: 'https://other.example/v1', apiKey: 'sk-2' }
  expect(await callWith(environment, options)).toEqual({
    url: 'https://other.example/v1/me',
    key: 'Bearer sk-2',
  })
})

test('the variables of the openai packages count too, but their key is sent only to their address', async () => {
  const other = { OPENAI_BASE_URL: 'https://media.example/openai/v1', OPENAI_API_KEY: 'sk-3' }
  expect(await callWith(other)).toEqual({ url: 'https://media.example/v1/me', key: 'Bearer sk-3' })
  expect(await callWith({ ...other, KINORA_URL: 'https://mine.example' })).toEqual({
    ...{ url: 'https://mine.example/v1/me', key: null },
  })
  expect(await callWith({ OPENAI_API_KEY: 'sk-3' })).toEqual({
    url: 'http://127.0.0.1:8787/v1/me',
    key: null,
  })
})

test('no key is sent to an address that it does not belong to', async () => {
  const other = { OPENAI_BASE_URL: 'https://other.example/v1', OPENAI_API_KEY: 'sk-other' }
  const local = 'http://127.0.0.1:8787/v1/me'
  // A key of ours goes to no address of theirs.
  expect(await callWith({ ...other, KINORA_API_KEY: 'sk-1' })).toEqual({ url: local, key: 'Bearer sk-1' })
  expect(await callWith(other, { apiKey: 'sk-2' })).toEqual({ url: local, key: 'Bearer sk-2' })
  // A key of theirs goes to no address of ours.
  const baseUrl = 'https://media.example'
  expect(await callWith(other, { baseUrl })).toEqual({ url: `${baseUrl}/v1/me`, key: null })
  for (const url of ['https://api.openai.com/v1', 'https://EU.api.OpenAI.com', 'api.openai.com/v1'])
    expect(await callWith({ ...other, OPENAI_BASE_URL: url })).toEqual({ url: local, key: null })
})

test('a key that cannot be in a header is refused without being shown', () => {
  for (const apiKey of ['sk-one\nsk-two', 'sk-“quoted”', 'sk one'])
    expect(() => new Kinora({ apiKey })).toThrow(/^The API key has a character/)
  expect(() => new Kinora({ apiKey: 'sk-1\n' })).not.toThrow()
})

test.for(['localhost:8787', 'ftp://media.example', 'https://user:secret@media.example', 'not a URL'])(
  '%s is refused as an address',
  (baseUrl) => {
    expect(() => new Kinora({ baseUrl })).toThrow(/^The base URL must be/)
  },
)
