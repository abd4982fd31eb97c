/** A browser at the console of a gateway, as far as cookies and the headers that name its page go. */
import { randomInt } from 'node:crypto'

import { operations } from '@kinora/contract/operations'
import Schema from 'typebox/schema'
import { expect } from 'vitest'

import { ask, type Answer } from './answers.ts'

const cookieName = '__Host-kinora_session'

/** An address that no other test has, for a gateway that trusts its direct clients as proxies. */
export const randomAddress = (): string =>
  `2001:db8:${randomInt(0x1_00_00).toString(16)}:${randomInt(0x1_00_00).toString(16)}::1`

export const consoleSettings = { TRUSTED_PROXIES: '127.0.0.1' }

export interface ConsoleBrowser {
  url: string
  address: string
  /** The value of the session's cookie; undefined if there is none. */
  cookie: () => string | undefined
  /** The headers that the browser sends with a request of the own page. */
  headers: () => Record<string, string>
  ask: (path: string, init?: RequestInit) => Promise<Answer>
  fetch: (path: string, init?: RequestInit) => Promise<Response>
  post: (path: string, body: unknown) => Promise<Answer>
  signIn: (...keys: string[]) => Promise<Answer>
}

export const openBrowser = (
  url: string,
  { address = randomAddress(), cookie: given }: { address?: string; cookie?: string | undefined } = {},
): ConsoleBrowser => {
  let cookie = given
  const headers = () => ({
    'x-forwarded-for': address,
    'sec-fetch-site': 'same-origin',
    ...(cookie !== undefined && { cookie: `${cookieName}=${cookie}` }),
  })
  const keep = (set: string | null) => {
    const value = /^__Host-kinora_session=([^;]*)/.exec(set ?? '')?.[1]
    if (value !== undefined) cookie = value === '' ? undefined : value
  }
  const askPath = async (path: string, init: RequestInit = {}) => {
    const answer = await ask(url + path, undefined, {
      ...init,
      headers: { ...headers(), ...(init.headers as Record<string, string>) },
    })
    keep(answer.headers.get('set-cookie'))
    return answer
  }
  const post = (path: string, body: unknown) =>
    askPath(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  return {
    ...{ url, address, headers, ask: askPath, post },
    cookie: () => cookie,
    fetch: (path, init = {}) =>
      fetch(url + path, { ...init, headers: { ...headers(), ...(init.headers as Record<string, string>) } }),
    signIn: async (...keys) => {
      const answer = await post('/console/v1/sessions', { keys })
      if (answer.status === 200)
        expect(Schema.Errors(operations.createConsoleSession.answer.schema, answer.body)).toEqual([true, []])
      return answer
    },
  }
}
