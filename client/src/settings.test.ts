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
