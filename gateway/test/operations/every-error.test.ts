import { errors, type ErrorCode } from '@kinora/contract/errors'
import { taskErrors } from '@kinora/contract/task-errors'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { ask, errorBodyOf, expectProblem } from '../kit/answers.ts'
import { createErrorTriggers, type ErrorTriggers } from '../kit/error-triggers.ts'
import { startGateway } from '../kit/start-gateway.ts'

let all: ErrorTriggers
beforeAll(async () => {
  all = await createErrorTriggers()
})
afterAll(() => all[Symbol.asyncDispose]())

test.each(Object.keys(errors) as ErrorCode[])('%s', async (code) => {
  const answer = await all.triggers[code]()
  const { param } = answer.body['error'] as { param?: string }
  expectProblem(answer, code, param)
})

test.each([
  ['task_not_found', "'vidB-2:1700000000-00aaaaaaaaaaaa'"],
  ['media_expired', 'expired at 20'],
  ['range_not_satisfiable', "'bytes=5000-' is outside of the file, which has 1000 bytes"],
  ['output_length_exceeded', "'chat-4o-mini-tts-2025-12-15'"],
  ['upstream_error', "'asr-1'"],
] as const)('the message of %s names %s', async (code, value) => {
  const { body } = await all.triggers[code]()
  expect((body['error'] as { message: string }).message).toContain(value)
})

test('the page that doc_url names has a section for every code, and needs no key', async () => {
  const { body } = await ask(`${all.gateway.url}/v1/models`, undefined)
  const { pathname, hash } = new URL((body['error'] as { doc_url: string }).doc_url)
  expect(hash).toBe('#missing_api_key')
  const response = await fetch(all.gateway.url + pathname)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^text\/html/)
  const sections = [...(await response.text()).matchAll(/<section id="(\w+)">/g)].map(([, id]) => id)
  expect(sections).toHaveLength(new Set(sections).size)
  expect(new Set(sections)).toEqual(new Set([...Object.keys(errors), ...Object.keys(taskErrors)]))
})

test('doc_url starts with PUBLIC_URL', async () => {
  await using gateway = await startGateway({ PUBLIC_URL: 'https://media.example/api/' }, all.gateway)
  const { body } = await ask(`${gateway.url}/v1/models`, undefined)
  expect(body).toEqual(
    errorBodyOf('missing_api_key', { doc_url: 'https://media.example/api/docs/errors#missing_api_key' }),
  )
})
