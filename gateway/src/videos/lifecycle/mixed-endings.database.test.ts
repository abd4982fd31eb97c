/**
 * Tasks with every kind of end, mixed and concurrent: providers accept, reject, or leave the outcome of a submit unknown;
 * tasks complete, fail, or are cancelled or resolved by an operator, sometimes all at once; operators refund what was charged, some of
 * it too often. The ledger stays sound, and has exactly what the responses said.
 *
 * The same seed gives the same decisions: LEDGER_SEED=… LEDGER_TASKS=… npx vitest run <this file>
 */

import type { AdminOperationId } from '@kinora/contract/admin-operations'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { askJson } from '../../../test/kit/answers.ts'
import { randomOf } from '../../../test/kit/crashes.ts'
import { createAccount, createKey, subscribe } from '../../../test/kit/factories.ts'
import { brokenInvariants } from '../../../test/kit/ledger.ts'
import { listenForTest, type TestServer } from '../../../test/kit/listen-for-test.ts'
import { createOperator, type Operator } from '../../../test/kit/operator.ts'
import { startVendorGateway, type VendorGateway } from '../../../test/kit/vendor-gateway.ts'
import { providerConfigAt } from '../../../test/kit/vendor-providers.ts'
import { runIncrementalAudit } from '../../billing/ledger/audit-ledger.ts'
import { uuidV7 } from '../../platform/ids/uuid.ts'
import { createLog } from '../../platform/log.ts'
import { createProviders } from '../../providers/registry.ts'
import { deleteHealthOf } from '../../routing/route-health-store.ts'
import { createRouter } from '../../routing/router.ts'
import { insertStoredFiles } from '../../storage/stored-file-store.ts'
import { dayOfTaskId } from '../task-id.ts'
import type { Ending } from '../task.ts'
import { createFinishTask } from './settle-video.ts'
import { createStepRecords } from './step-records.ts'
import { submitVideo, type SubmitDependencies } from './submit-video.ts'

const seed = Number(process.env['LEDGER_SEED'] ?? Math.floor(Math.random() * 1_000_000_000))
const count = Number(process.env['LEDGER_TASKS'] ?? 60)
const lanes = 6
const accountCount = 5

/** What operators decide about an open task. Some of it is possible only while the outcome of a submit is unknown. */
const operatorDecisions: { operation: AdminOperationId; body?: object; statuses: number[] }[] = [
  { operation: 'cancelTask', statuses: [200] },
  { operation: 'resolveTask', body: { action: 'fail' }, statuses: [200, 409] },
  { operation: 'resolveTask', body: { action: 'retry' }, statuses: [200, 409] },
]

const log = createLog({ level: 'silent' }, 'test')
let gateway: VendorGateway
let operator: Operator
let vendor: TestServer
/** Workers that were replaced. A new one knows nothing of earlier failures, so its circuit breakers are closed. */
const retired: (typeof worker)[] = []
const tasksPerWorker = 20
let worker: { dependencies: SubmitDependencies; stop: () => void | Promise<void> }

const vendorTally = { accepted: 0, rejected: 0, dropped: 0 }

/** A vendor that accepts some jobs, rejects some, and drops some connections once it has read the request. */
const startMoodyVendor = (): Promise<TestServer> => {
  const random = randomOf(seed)
  return listenForTest((request, response) => {
    const mood = random()
    if (mood < 0.2) {
      vendorTally.dropped += 1
      request.socket.destroy()
    } else if (mood < 0.35) {
      vendorTally.rejected += 1
      response.writeHead(400).end('{"error":{"message":"no"}}')
    } else {
      vendorTally.accepted += 1
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: uuidV7() }))
    }
  })
}

/** A worker without an engine. */
const startWorker = async ({ url }: TestServer): Promise<typeof worker> => {
  const { postgres } = gateway.database
  const provider = providerConfigAt(url, 'a-key', {
    protocolSettings: { idempotentSubmits: false, lookup: false },
  })
  const config = { providers: [provider, { ...provider, name: 'other' }], models: {} }
  const liveConfig = { current: () => config, onChange: () => () => {} }
  const providers = createProviders(liveConfig, { ffmpegPath: 'ffmpeg' })
  const router = await createRouter({ liveConfig, providers, postgres, log })
  const dependencies: SubmitDependencies = {
    ...{ postgres, providers, router, log, records: createStepRecords(postgres) },
    mediaStore: gateway.mediaStore,
    portraitsOf: async () => new Map(),
    webhookUrlOf: () => '',
    wakeDispatcher: () => {},
    wakePoller: () => {},
    announce: () => {},
    jobDurations: { of: () => undefined },
    stopping: new AbortController().signal,
    record: (work) => work(),
  }
  return { dependencies, stop: () => router.stop() }
}

beforeAll(async () => {
  gateway = await startVendorGateway()
  operator = await createOperator(gateway)
  const other = { kind: 'openai', base_url: gateway.vendor.url }
  await operator.call('setProvider', { id: 'other', body: other })
  const routes = [
    { provider: 'vendor', order: 1 },
    { provider: 'other', order: 2 },
  ]
  await operator.call('setModelRoutes', { id: 'vidB-2', body: { routes } })
  vendor = await startMoodyVendor()
  worker = await startWorker(vendor)
})
afterAll(async () => {
  for (const { stop } of [...retired, worker]) await stop()
  await vendor[Symbol.asyncDispose]()
  await gateway[Symbol.asyncDispose]()
})

const replaceWorker = async () => {
  retired.push(worker)
  await deleteHealthOf(gateway.database.postgres, 'vendor')
  await deleteHealthOf(gateway.database.postgres, 'other')
  worker = await startWorker(vendor)
}

interface Customer {
  accountId: string
  wallet: 'payg' | 'subscription'
  text: string
  /** The expected revenue. */
  revenue: number
}

const createCustomer = async (index: number): Promise<Customer> => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  const wallet = index % 3 === 2 ? 'subscription' : 'payg'
  if (wallet === 'subscription') await subscribe(postgres, accountId)
  const { text } = await createKey(postgres, accountId, { kind: wallet })
  return { accountId, wallet, text, revenue: 0 }
}

const tally = { completed: 0, failed: 0, unknown: 0, cancels: 0, resolved: 0, refunds: 0, refusedRefunds: 0 }
const video = uuidV7()

test(
  `${count} tasks with every kind of end leave a sound ledger (LEDGER_SEED=${seed})`,
  { timeout: 1_800_000 },
  async () => {
    const { postgres } = gateway.database
    const customers = await Promise.all(
      Array.from({ length: accountCount }, (_, index) => createCustomer(index)),
    )
    await insertStoredFiles(postgres, [
      {
        ...{ id: video, accountId: uuidV7(), taskId: 'of all tasks', kind: 'video', storageKey: 'none' },
        ...{ contentType: 'video/mp4', sizeBytes: 1, sha256: '00', width: 1, height: 1, durationMs: 1 },
        expiresAt: null,
      },
    ])
    const finish = createFinishTask(postgres)
    const completed: Ending = { kind: 'completed', mediaId: video }
    const failed: Ending = { kind: 'failed', code: 'task_timeout', message: 'The deadline has passed.' }

    const create = async ({ text }: Customer, seconds: number): Promise<string> => {
      const order = { model: 'vidB-2', prompt: 'A whale', seconds, size: '480x480' }
      const { status, body } = await askJson(`${gateway.url}/v1/videos`, text, order)
      expect(status).toBe(200)
      const id = String(body['id'])
      await postgres.query(`update open_tasks set stage = 'starting', run = 1 where task_id = $1`, [id])
      return id
    }
    const isUnknown = async (id: string): Promise<boolean> => {
      const { rows } = await postgres.query<{ isUnknown: boolean }>(
        'select outcome_unknown_since is not null as "isUnknown" from open_tasks where task_id = $1',
        [id],
      )
      return rows[0]?.isUnknown === true
    }
    const decide = async (id: string, random: () => number) => {
      const decision = operatorDecisions[Math.floor(random() * operatorDecisions.length)]
      if (decision === undefined) return
      const { operation, body, statuses } = decision
      const wasUnknown = await isUnknown(id)
      const { status } = await operator.ask(operation, { id, body })
      expect(statuses).toContain(status)
      if (operation === 'cancelTask') tally.cancels += 1
      else if (wasUnknown && status === 200) tally.resolved += 1
    }
    const end = async (id: string, random: () => number) => {
      const task = { day: dayOfTaskId(id) ?? '', id }
      // Operators decide about every task whose submit has an unknown outcome.
      const way = random() * ((await isUnknown(id)) ? 0.65 : 1)
      if (way < 0.35) await decide(id, random)
      // The provider completes the job, the deadline passes, and an operator decides at the same moment.
      else if (way < 0.65) {
        const complete = finish({ ...task, ending: completed })
        const endings = [complete, finish({ ...task, ending: failed }), decide(id, random)]
        await Promise.all(endings)
      }
      // Has no effect if the task has ended.
      await finish({ ...task, ending: random() < 0.7 ? completed : failed })
    }
    const refundSome = async (id: string, captured: number, random: () => number): Promise<number> => {
      const amounts = Array.from(
        { length: 1 + Math.floor(random() * 3) },
        () => 1 + Math.floor(random() * captured),
      )
      const answers = await Promise.all(
        amounts.map((amount_micros, index) =>
          operator.ask('createRefund', {
            id,
            body: { amount_micros, reason: 'a test', ...(random() < 0.5 && { reference: `${id} ${index}` }) },
          }),
        ),
      )
      const refunded = answers.map(({ status, body }) => (status === 200 ? Number(body['amount_micros']) : 0))
      const sum = refunded.reduce((total, each) => total + each, 0)
      expect(sum).toBeLessThanOrEqual(captured)
      for (const { status } of answers) {
        expect([200, 409]).toContain(status)
        if (status === 200) tally.refunds += 1
        else tally.refusedRefunds += 1
      }
      return sum
    }

    const live = async (customer: Customer, random: () => number) => {
      const id = await create(customer, [4, 8, 12][Math.floor(random() * 3)] ?? 4)
      // Some are decided before they are submitted.
      if (random() < 0.9) await submitVideo(worker.dependencies, id, 1)
      if (await isUnknown(id)) tally.unknown += 1
      await end(id, random)
      const { captured_micros: captured } = await operator.call('getAnyReceipt', { id })
      if (captured === 0) {
        tally.failed += 1
        expect((await operator.ask('createRefund', { id, body: { reason: 'a test' } })).status).toBe(409)
        return
      }
      tally.completed += 1
      customer.revenue += captured
      const refunded = random() < 0.5 ? await refundSome(id, captured, random) : 0
      customer.revenue -= refunded
    }

    const numbers = Array.from({ length: count }, (_, index) => index)
    await Promise.all(
      Array.from({ length: lanes }, async () => {
        for (let index = numbers.shift(); index !== undefined; index = numbers.shift()) {
          const customer = customers[index % accountCount]
          if (customer !== undefined) await live(customer, randomOf(seed * 31 + index))
          if (index % tasksPerWorker === tasksPerWorker - 1) await replaceWorker()
          // Audits run beside the traffic.
          if (index % 100 === 50) {
            const { findings } = await runIncrementalAudit(postgres)
            expect(findings.filter(({ violations }) => violations > 0)).toEqual([])
          }
        }
      }),
    )

    expect(await brokenInvariants(postgres)).toEqual([])
    const { rows } = await postgres.query<Record<string, unknown>>(
      `select b.account_id as "accountId", b.available_micros as available, b.held_micros as held, b.spent_micros as spent,
            (select coalesce(sum(amount_micros), 0) from ledger_entries l
              where l.account_id = b.account_id and l.book = 'revenue') as revenue
       from balances b
      where (b.account_id::text, b.wallet) in (select * from unnest($1::text[], $2::text[]))`,
      [customers.map(({ accountId }) => accountId), customers.map(({ wallet }) => wallet)],
    )
    const books = new Map(rows.map((row) => [row['accountId'], row]))
    for (const { accountId, revenue } of customers) {
      const available = 1_000_000_000 - revenue
      expect(books.get(accountId)).toEqual({ accountId, available, held: 0, spent: revenue, revenue })
    }
    process.stdout.write(
      `LEDGER_SEED=${seed} ${JSON.stringify({ tasks: count, ...tally, ...vendorTally })}\n`,
    )
    for (const seen of Object.values({ ...tally, ...vendorTally })) expect(seen).toBeGreaterThan(0)
  },
)
