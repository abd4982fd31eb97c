import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createFalSigner } from '../../../dev/vendor/fal-signature.ts'
import { Secret } from '../../src/platform/secret.ts'
import { removeWebhookReceipts } from '../../src/retention/expired-row-store.ts'
import { recordSubmitted, waitForDeadline } from '../../src/videos/lifecycle/submit-store.ts'
import { findDuePolls, recordPolls } from '../../src/videos/polling/poll-store.ts'
import { dayOfTaskId } from '../../src/videos/task-id.ts'
import { createWebhookUrls } from '../../src/webhooks/inbound/webhook-url.ts'
import { ask, expectProblem, randomAddress } from '../kit/answers.ts'
import { endTask, linkSecret } from '../kit/factories.ts'
import { recordOf, startGateway, startProxy } from '../kit/start-gateway.ts'
import { startWebhookGateway, type Delivered, type WebhookGateway } from '../kit/webhook-gateway.ts'

let gateway: WebhookGateway

beforeAll(async () => {
  gateway = await startWebhookGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

let jobs = 0
const newJobId = () => `job-${(jobs += 1)}`

interface TaskRecord {
  stage: string
  upstream: unknown
  isDue: boolean | null
  state: string
  processings: number
  duplicates: number
}

const recordOfTask = async (taskId: string): Promise<TaskRecord | undefined> => {
  const { rows } = await gateway.database.postgres.query<TaskRecord & Record<string, unknown>>(
    `select o.stage, o.upstream, o.next_poll_at <= now() as "isDue", t.state,
            (select count(*) from task_events e where e.task_id = t.id and e.kind = 'processing') as processings,
            (select count(*) from task_attempts a where a.task_id = t.id and a.is_duplicate) as duplicates
       from video_tasks t left join open_tasks o on o.task_id = t.id where t.id = $1`,
    [taskId],
  )
  return rows[0]
}

const waiting = async (jobId = newJobId()) => {
  const taskId = await gateway.create()
  await gateway.submitted(taskId, jobId)
  return { taskId, jobId }
}

const expectReceived = async (delivered: Delivered) => {
  expect(await gateway.deliver(delivered)).toMatchObject({ status: 200, body: { received: true } })
}

/** Expects a refusal that changes nothing in the database. */
const expectNoEffect = async (delivered: Delivered, code: Parameters<typeof expectProblem>[1]) => {
  const before = await recordOf(gateway)
  expectProblem(await gateway.deliver(delivered), code)
  expect(await recordOf(gateway)).toEqual(before)
}

describe('a signed webhook', () => {
  test('makes a known job due for a poll and changes nothing else', async () => {
    const { taskId, jobId } = await waiting()
    const before = await recordOfTask(taskId)
    expect(before).toMatchObject({ isDue: false, state: 'processing' })
    await expectReceived(gateway.webhookOf(taskId, jobId))
    expect(await recordOfTask(taskId)).toEqual({ ...before, isDue: true })
  })

  test('has an effect once, even if it is redelivered late', async () => {
    const { taskId, jobId } = await waiting()
    const delivered = gateway.webhookOf(taskId, jobId)
    await expectReceived(delivered)
    await gateway.database.postgres.query(
      `update open_tasks set next_poll_at = now() + interval '1 hour' where task_id = $1`,
      [taskId],
    )
    await expectReceived(delivered)
    await expectReceived(gateway.webhookOf(taskId, jobId, { atSeconds: Math.floor(Date.now() / 1000) + 1 }))
    expect(await recordOfTask(taskId)).toMatchObject({ isDue: false, processings: 1 })
  })

  test.each(['accepted', 'starting', 'submitting', 'waiting'])(
    'records a job that was not known, with the task %s',
    async (stage) => {
      const taskId = await gateway.create()
      const jobId = newJobId()
      await gateway.database.postgres.query(
        `update open_tasks set stage = $2, submits = 1, next_poll_at = null where task_id = $1`,
        [taskId, stage],
      )
      await expectReceived(gateway.webhookOf(taskId, jobId))
      expect(await recordOfTask(taskId)).toEqual({
        stage: 'waiting',
        upstream: gateway.refOf(jobId),
        isDue: true,
        state: 'processing',
        processings: 1,
        duplicates: 0,
      })
    },
  )

  test('that arrives before the response to the submit wins, and the response changes nothing', async () => {
    const { postgres } = gateway.database
    const taskId = await gateway.create()
    const jobId = newJobId()
    await postgres.query(`update open_tasks set stage = 'submitting', submits = 1 where task_id = $1`, [
      taskId,
    ])
    await expectReceived(gateway.webhookOf(taskId, jobId))
    const job = { taskId, provider: 'queue', upstream: gateway.refOf(jobId), firstPollMs: 60_000 }
    expect(await recordSubmitted(postgres, [job])).toEqual(new Map([[taskId, 'not_recorded']]))
    await waitForDeadline(postgres, { taskId, run: 0 })
    expect(await recordOfTask(taskId)).toMatchObject({
      upstream: gateway.refOf(jobId),
      isDue: true,
      processings: 1,
    })
  })

  test('that arrives during a poll makes the job due again', async () => {
    const { postgres } = gateway.database
    const { taskId, jobId } = await waiting()
    await postgres.query('update open_tasks set next_poll_at = now() where task_id = $1', [taskId])
    const due = (await findDuePolls(postgres, 'queue', 0, 1, 1_000)).find((each) => each.taskId === taskId)
    const polled = {
      taskId,
      day: dayOfTaskId(taskId) ?? '',
      nextPollMs: 60_000,
      progress: 10,
      outcome: null,
      ...(due !== undefined && { dueAt: due.dueAt }),
    }
    await expectReceived(gateway.webhookOf(taskId, jobId))
    await recordPolls(postgres, [polled])
    expect(await recordOfTask(taskId)).toMatchObject({ isDue: true })
    const again = (await findDuePolls(postgres, 'queue', 0, 1, 1_000)).find((each) => each.taskId === taskId)
    await recordPolls(postgres, [{ ...polled, dueAt: again?.dueAt ?? '' }])
    expect(await recordOfTask(taskId)).toMatchObject({ isDue: false })
  })

  test('that arrives during a poll which ends after its tick makes the job due again as well', async () => {
    const { postgres } = gateway.database
    const { taskId, jobId } = await waiting()
    await postgres.query('update open_tasks set next_poll_at = now() where task_id = $1', [taskId])
    const due = (await findDuePolls(postgres, 'queue', 0, 1, 1_000)).find((each) => each.taskId === taskId)
    const result = {
      taskId,
      day: dayOfTaskId(taskId) ?? '',
      nextPollMs: 60_000,
      progress: null,
      outcome: null,
    }
    await recordPolls(postgres, [{ ...result, dueAt: due?.dueAt ?? '' }])
    expect(await recordOfTask(taskId)).toMatchObject({ isDue: false })
    await expectReceived(gateway.webhookOf(taskId, jobId))
    await recordPolls(postgres, [{ ...result, isLate: true }])
    expect(await recordOfTask(taskId)).toMatchObject({ isDue: true })
  })

  test('of a second job is recorded as a duplicate, and that job is cancelled', async () => {
    const { taskId, jobId } = await waiting()
    const before = await recordOfTask(taskId)
    const second = newJobId()
    await expectReceived(gateway.webhookOf(taskId, second))
    expect(await recordOfTask(taskId)).toEqual({ ...before, upstream: gateway.refOf(jobId), duplicates: 1 })
    await expect.poll(() => gateway.requests).toContain(`PUT /maker/film/requests/${second}/cancel`)
    await expectReceived(gateway.webhookOf(taskId, second))
    expect(await recordOfTask(taskId)).toMatchObject({ duplicates: 1 })
  })

  test("of another task's job changes neither task and does not suppress the correct delivery", async () => {
    const mine = await waiting()
    const other = await waiting()
    const withoutJob = await gateway.create()
    const before = [
      await recordOfTask(mine.taskId),
      await recordOfTask(other.taskId),
      await recordOfTask(withoutJob),
    ]
    await expectReceived(gateway.webhookOf(other.taskId, mine.jobId))
    await expectReceived(gateway.webhookOf(withoutJob, mine.jobId))
    expect([
      await recordOfTask(mine.taskId),
      await recordOfTask(other.taskId),
      await recordOfTask(withoutJob),
    ]).toEqual(before)
    expect(gateway.requests.filter((path) => path.includes(`/${mine.jobId}/`))).toEqual([])
    await expectReceived(gateway.webhookOf(mine.taskId, mine.jobId))
    expect(await recordOfTask(mine.taskId)).toMatchObject({ isDue: true })
  })

  test('of a provider that the task has left is a duplicate there', async () => {
    const taskId = await gateway.create()
    const jobId = newJobId()
    await gateway.database.postgres.query(`update open_tasks set provider = 'other' where task_id = $1`, [
      taskId,
    ])
    const before = await recordOfTask(taskId)
    await expectReceived(gateway.webhookOf(taskId, jobId))
    expect(await recordOfTask(taskId)).toEqual({ ...before, duplicates: 1 })
    await expect.poll(() => gateway.requests).toContain(`PUT /maker/film/requests/${jobId}/cancel`)
  })

  test('of a task that has ended or does not exist is received and changes nothing', async () => {
    const { taskId, jobId } = await waiting()
    await endTask(gateway.database.postgres, taskId, {
      kind: 'failed',
      code: 'task_timeout',
      message: 'Late.',
    })
    const before = await recordOf(gateway)
    await expectReceived(gateway.webhookOf(taskId, jobId))
    await expectReceived(gateway.webhookOf('vidB-2:1700000000-00abcdefghijkl', newJobId()))
    expect(await recordOf(gateway)).toEqual(before)
  })

  test('leaves a receipt that is deleted after a day', async () => {
    const { postgres } = gateway.database
    const { taskId, jobId } = await waiting()
    await expectReceived(gateway.webhookOf(taskId, jobId))
    await postgres.query(
      `update webhook_receipts set received_at = now() - interval '25 hours' where id = $1 || ' ' || $2`,
      [taskId, jobId],
    )
    expect(await removeWebhookReceipts(postgres, 1_000)).toBe(1)
    expect(await removeWebhookReceipts(postgres, 1_000)).toBe(0)
  })
})

describe('no effect has', () => {
  test.each<[string, (genuine: Delivered) => Delivered]>([
    [
      'another signature',
      (genuine) => ({ ...genuine, url: genuine.url.replace(/signature=./, 'signature=!') }),
    ],
    ['text after the signature', (genuine) => ({ ...genuine, url: genuine.url.replace('&note', '=&note') })],
    ['no signature', (genuine) => ({ ...genuine, url: genuine.url.split('?')[0] ?? '' })],
    ['another secret', (genuine) => ({ ...genuine, url: genuine.url.replace(/key=\w+/, 'key=00000000') })],
    [
      'another provider',
      (genuine) => ({ ...genuine, url: genuine.url.replace('/webhooks/queue/', '/webhooks/other/') }),
    ],
    [
      'no provider',
      (genuine) => ({ ...genuine, url: genuine.url.replace('/webhooks/queue/', '/webhooks/unknown/') }),
    ],
  ])('a URL with %s', async (_, change) => {
    const { taskId, jobId } = await waiting()
    await expectNoEffect(change(gateway.webhookOf(taskId, jobId)), 'resource_not_found')
  })

  test('a URL with the signature of another task or of another secret', async () => {
    const { taskId, jobId } = await waiting()
    const second = await gateway.create()
    const genuine = gateway.webhookOf(taskId, jobId)
    const [own, foreign] = [taskId, second].map(encodeURIComponent)
    const url = genuine.url.replace(`/${own}?`, `/${foreign}?`)
    expect(url).not.toBe(genuine.url)
    await expectNoEffect({ ...genuine, url }, 'resource_not_found')
    const links = createWebhookUrls([new Secret('a secret of another gateway')], gateway.url)
    await expectNoEffect({ ...genuine, url: links.urlFor('queue', taskId) }, 'resource_not_found')
  })

  test.each<[string, (genuine: Delivered) => Delivered]>([
    ['unsigned', (genuine) => ({ ...genuine, headers: {} })],
    ['changed', (genuine) => ({ ...genuine, body: genuine.body.replace('OK', 'KO') })],
    [
      'signed with another key',
      (genuine) => ({
        ...genuine,
        headers: createFalSigner().headersOf(genuine.body, { requestId: 'job-1' }),
      }),
    ],
    [
      'old',
      (genuine) => ({
        ...genuine,
        headers: gateway.signer.headersOf(genuine.body, {
          requestId: 'job-1',
          atSeconds: Math.floor(Date.now() / 1000) - 400,
        }),
      }),
    ],
    ['empty', (genuine) => ({ ...genuine, body: '' })],
  ])('a delivery that is %s', async (_, change) => {
    const { taskId, jobId } = await waiting()
    await expectNoEffect(change(gateway.webhookOf(taskId, jobId)), 'invalid_signature')
  })

  test('a body over a mebibyte', async () => {
    const { taskId, jobId } = await waiting()
    const genuine = gateway.webhookOf(taskId, jobId)
    const body = JSON.stringify({ request_id: jobId, payload: 'x'.repeat(1_100_000) })
    const headers = gateway.signer.headersOf(body, { requestId: jobId })
    await expectNoEffect({ ...genuine, body, headers }, 'request_too_large')
  })
})

test('a forged URL never reaches the database, and is rate-limited per address', async () => {
  await using proxy = await startProxy(gateway.database.url)
  await using behind = await startGateway(
    { DATABASE_URL: proxy.url, LIMIT_ADDRESS_PER_3_MINUTES: '5', TRUSTED_PROXIES: '127.0.0.1' },
    gateway,
  )
  const headers = { 'x-forwarded-for': randomAddress() }
  const forged = `${behind.url}/webhooks/queue/video_x?key=00000000&signature=${'A'.repeat(43)}`
  const before = proxy.sentBytes()
  const codes = []
  for (let count = 0; count < 7; count += 1) {
    const { body } = await ask(forged, undefined, { method: 'POST', body: '{}', headers })
    codes.push((body['error'] as { code: string }).code)
  }
  expect(codes).toEqual([
    ...Array.from({ length: 5 }, () => 'resource_not_found'),
    ...Array.from({ length: 2 }, () => 'rate_limit_exceeded'),
  ])
  expect(proxy.sentBytes()).toBe(before)
})

test('only deliveries that fail verification count against the rate limit of their address', async () => {
  const limits = { LIMIT_ADDRESS_PER_3_MINUTES: '1', TRUSTED_PROXIES: '127.0.0.1' }
  await using bounded = await startGateway({ ...gateway.environment, ...limits }, gateway)
  const { taskId, jobId } = await waiting()
  const genuine = gateway.webhookOf(taskId, jobId)
  const deliver = async (body: string) => {
    const headers = { ...genuine.headers, 'x-forwarded-for': address }
    const url = genuine.url.replace(gateway.url, bounded.url)
    return (await gateway.deliver({ url, headers, body })).status
  }
  const address = randomAddress()
  for (let count = 0; count < 3; count += 1) expect(await deliver(genuine.body)).toBe(200)
  expect([await deliver('{}'), await deliver('{}')]).toEqual([401, 429])
  expect(await deliver(genuine.body)).toBe(200)
})

test('the endpoint accepts only POST and no cross-origin requests', async () => {
  const url = createWebhookUrls([new Secret(linkSecret)], gateway.url).urlFor('queue', await gateway.create())
  const answer = await ask(url, undefined)
  expectProblem(answer, 'method_not_allowed')
  expect(answer.headers.get('allow')).toBe('POST, OPTIONS')
  expect(answer.headers.get('access-control-allow-origin')).toBeNull()
})
