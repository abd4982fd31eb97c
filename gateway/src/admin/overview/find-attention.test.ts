import { readdir } from 'node:fs/promises'

import { describe, expect, test } from 'vitest'

import type { Facts, ProviderFacts, SlowFacts } from './attention-facts.ts'
import { findAttention } from './find-attention.ts'

const now = Date.parse('2026-06-15T12:00:00Z') / 1000
const slow: SlowFacts = {
  audit: { isSound: true, violations: 0, checkedAgoMs: 1_000, fullAuditAgoMs: 1_000 },
  holds: { video: 10, transcription: null, request: null },
  keys: [],
  webhooks: {
    ...{ disabled: 0, disabledAccount: null, disabledSince: null },
    ...{ failing: 0, failingAccount: null, failingSince: null },
    ...{ failed: 0, failedAccount: null, failedSince: null },
  },
  removals: { removals: 0, since: null },
}
const provider: ProviderFacts = {
  ...{
    name: 'acme',
    problem: null,
    refusesCredential: false,
    openModels: [],
    reason: null,
    budget: undefined,
  },
}
const video = {
  ...{ provider: 'acme', stage: 'accepted' as const, tasks: 1, oldestSeconds: 5, pastDeadline: 0 },
  ...{ pollsOverdue: 0, pollLateSeconds: 0, submitsUnknown: 0 },
}
const facts = (given: Partial<Facts> = {}): Facts => ({
  ...{ slow, now, workerAge: 5, videos: [video], transcriptions: [], providers: [provider], models: [] },
  ...{ freeBytes: 10 * 1024 ** 3, storageProblem: undefined },
  ...given,
})
const found = (given: Partial<Facts>) =>
  findAttention(facts(given)).map(({ code, severity }) => `${severity} ${code}`)

test('a healthy instance needs none', () => {
  expect(findAttention(facts())).toEqual([])
})

const budget = { isSpent: false, isStopped: false, isAlerted: true, share: 0.85 }
const model = { id: 'clip-1', state: 'active' as const, shutdownDate: undefined, successor: 'clip-2' }

describe('is needed', () => {
  test.each<[string, Partial<Facts>, string[]]>([
    [
      'for a provider that cannot be used',
      { providers: [{ ...provider, problem: 'No.' }] },
      ['page provider_unusable'],
    ],
    [
      'for a refused credential, and not for the breaker that it opens',
      { providers: [{ ...provider, refusesCredential: true, openModels: ['clip-1'] }] },
      ['page provider_credential_refused'],
    ],
    [
      'for an open breaker',
      { providers: [{ ...provider, openModels: ['clip-1'], reason: 'timeouts' }] },
      ['ticket provider_breaker_open'],
    ],
    ['for most of a budget', { providers: [{ ...provider, budget }] }, ['ticket provider_budget_alert']],
    [
      'for a spent budget',
      { providers: [{ ...provider, budget: { ...budget, isSpent: true, isStopped: true } }] },
      ['page provider_budget_spent'],
    ],
    ['for a long wait', { videos: [{ ...video, oldestSeconds: 601 }] }, ['page task_waiting_long']],
    ['not for a running task', { videos: [{ ...video, stage: 'waiting', oldestSeconds: 601 }] }, []],
    [
      'for tasks past their deadline',
      { videos: [{ ...video, pastDeadline: 2 }] },
      ['page tasks_past_deadline'],
    ],
    ['for overdue polls', { videos: [{ ...video, pollsOverdue: 1 }] }, ['page polls_overdue']],
    [
      'for a violated ledger',
      { slow: { ...slow, audit: { ...slow.audit!, isSound: false, violations: 1 } } },
      ['page ledger_violation'],
    ],
    [
      'for a late audit',
      { slow: { ...slow, audit: { ...slow.audit!, checkedAgoMs: 601_000 } } },
      ['page ledger_audit_late'],
    ],
    [
      'for old holds',
      { slow: { ...slow, holds: { ...slow.holds, request: 1_801 } } },
      ['ticket holds_too_old'],
    ],
    [
      'for late removals',
      { slow: { ...slow, removals: { removals: 3, since: new Date(0) } } },
      ['ticket removals_waiting'],
    ],
    [
      'for an endpoint of a customer that fails',
      { slow: { ...slow, webhooks: { ...slow.webhooks, failing: 1, failingSince: new Date(0) } } },
      ['notice webhook_endpoint_failing'],
    ],
    ['for a missing worker', { workerAge: undefined }, ['page worker_not_seen']],
    ['for a worker of a minute ago', { workerAge: 61 }, ['page worker_not_seen']],
    ['for a full disk', { freeBytes: 1024 ** 3 }, ['page disk_low']],
    ['for a problem of the media store', { storageProblem: 'Away.' }, ['page media_store_problem']],
    [
      'for a shutdown soon',
      { models: [{ ...model, shutdownDate: '2026-07-01' }] },
      ['notice model_shuts_down'],
    ],
    [
      'for a shutdown lately',
      { models: [{ ...model, shutdownDate: '2026-06-01' }] },
      ['notice model_shut_down'],
    ],
    ['not for a shutdown next year', { models: [{ ...model, shutdownDate: '2027-06-01' }] }, []],
    ['not for a retired model', { models: [{ ...model, state: 'retired', shutdownDate: '2026-06-01' }] }, []],
  ])('%s', (_, given, expected) => expect(found(given)).toEqual(expected))
})

test('texts are sentences, and name what to do', () => {
  const all = findAttention(
    facts({
      ...{ workerAge: undefined, freeBytes: 0, storageProblem: 'The bucket is away.' },
      videos: [{ ...video, oldestSeconds: 900, pastDeadline: 1, pollsOverdue: 1, submitsUnknown: 1 }],
      providers: [
        { ...provider, openModels: ['a'], reason: 'timeouts', budget },
        { ...provider, refusesCredential: true, budget: { ...budget, isSpent: true } },
      ],
    }),
  )
  for (const { title, text } of all) {
    expect(title).toMatch(/^\S.*[^.]$/)
    expect(text).toMatch(/^[A-Z\d].*\.$/)
  }
})

test('every runbook exists', async () => {
  const files = await readdir(new URL('../../../../docs/runbooks/', import.meta.url))
  const everything = findAttention(
    facts({
      ...{ workerAge: undefined, freeBytes: 0, storageProblem: 'The bucket is away.' },
      videos: [{ ...video, oldestSeconds: 900, pastDeadline: 1, pollsOverdue: 1, submitsUnknown: 1 }],
      slow: {
        ...slow,
        audit: { isSound: false, violations: 1, checkedAgoMs: 1e9, fullAuditAgoMs: 1e9 },
        holds: { video: 1e6, transcription: null, request: null },
        removals: { removals: 1, since: new Date(0) },
      },
      providers: [
        { ...provider, openModels: ['a'], reason: 'timeouts', budget },
        { ...provider, refusesCredential: true, budget: { ...budget, isSpent: true } },
      ],
    }),
  )
  const named = everything.flatMap(({ runbook_url: url }) => (url === null ? [] : [url.split('/').at(-1)]))
  expect(named.length).toBeGreaterThan(10)
  for (const name of named) expect(files).toContain(name)
})
