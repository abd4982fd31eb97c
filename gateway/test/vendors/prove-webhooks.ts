/**
 * Sends genuine, repeated, misdirected and forged webhooks in random order.
 * Returns the findings; the caller chooses the number of webhooks.
 */
import { isDeepStrictEqual } from 'node:util'

import { createFalSigner } from '../../../dev/vendor/fal-signature.ts'
import { Secret } from '../../src/platform/secret.ts'
import { createWebhookUrls } from '../../src/webhooks/inbound/webhook-url.ts'
import { endTask } from '../kit/factories.ts'
import type { Delivered, WebhookGateway } from '../kit/webhook-gateway.ts'

export interface WebhookProof {
  deliveries: number
  tasks: number
  forgeries: number
  forgeriesBelieved: number
  genuineRefused: number
  /** Tasks whose stored state does not match their genuine webhooks. */
  wrongTasks: unknown[]
}

/** The state of a task before its webhook. */
const standings = ['known', 'unsure', 'submitting', 'accepted', 'ended'] as const

interface Actor {
  taskId: string
  jobId: string
  standing: (typeof standings)[number]
}

interface Act {
  delivered: Delivered
  isForged: boolean
}

const deliveriesPerTask = 10
const atOnce = 16

/** Numbers from 0 to below 1, the same in every run. */
const randomFrom = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

const shuffled = <Item>(items: Item[], random: () => number): Item[] =>
  items
    .map((item) => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)

const setTheScene = async (gateway: WebhookGateway, index: number): Promise<Actor> => {
  const { postgres } = gateway.database
  const taskId = await gateway.create()
  const jobId = `proof-${index}`
  const standing = standings[index % standings.length] ?? 'known'
  if (standing === 'known' || standing === 'ended') await gateway.submitted(taskId, jobId)
  if (standing === 'ended') {
    await endTask(postgres, taskId, { kind: 'failed', code: 'task_timeout', message: 'Late.' })
  }
  const stage = { outcomeUnknown: 'waiting', submitting: 'submitting' }[standing as string]
  if (stage !== undefined) {
    await postgres.query(
      'update open_tasks set stage = $2, submits = 1, next_poll_at = null where task_id = $1',
      [taskId, stage],
    )
  }
  return { taskId, jobId, standing }
}

/** What is brought of one task: half of it genuine, and of that only one delivery that is to have an effect. */
const actsOf = (gateway: WebhookGateway, { taskId, jobId }: Actor, knownJobId: string): Act[] => {
  const genuine = gateway.webhookOf(taskId, jobId)
  const now = Math.floor(Date.now() / 1000)
  const signed = (signer: typeof gateway.signer, atSeconds: number): Delivered => ({
    ...genuine,
    headers: signer.headersOf(genuine.body, { requestId: jobId, atSeconds }),
  })
  const unsupportedLetters = createWebhookUrls(
    [new Secret('a secret that nobody here knows of')],
    gateway.url,
  )
  const genuineOnes = [
    genuine,
    genuine,
    signed(gateway.signer, now - 60),
    gateway.webhookOf(taskId, jobId, { atSeconds: now + 60 }),
    // A job that is another task's by all that is known.
    gateway.webhookOf(taskId, knownJobId),
  ]
  const forged = [
    { ...genuine, url: unsupportedLetters.urlFor('queue', taskId) },
    { ...genuine, headers: {} },
    { ...genuine, body: genuine.body.replace('OK', 'ERROR') },
    signed(createFalSigner(), now),
    signed(gateway.signer, now - 3_600),
  ]
  return [
    ...genuineOnes.map((delivered) => ({ delivered, isForged: false })),
    ...forged.map((delivered) => ({ delivered, isForged: true })),
  ]
}

const expectedOf = (gateway: WebhookGateway, { jobId, standing }: Actor) => {
  if (standing === 'ended') return { upstream: null, isDue: null, processings: 1, duplicates: 0, heard: 2 }
  return { upstream: gateway.refOf(jobId), isDue: true, processings: 1, duplicates: 0, heard: 2 }
}

export const proveWebhooks = async (gateway: WebhookGateway, deliveries: number): Promise<WebhookProof> => {
  const { postgres } = gateway.database
  const random = randomFrom(deliveries)
  const anchor = `anchor-${deliveries}`
  const anchored = await gateway.create()
  await gateway.submitted(anchored, anchor)
  const tasks = Math.ceil(deliveries / deliveriesPerTask)
  const actors = await Promise.all(Array.from({ length: tasks }, (_, index) => setTheScene(gateway, index)))
  const acts = shuffled(
    actors.flatMap((actor) => actsOf(gateway, actor, anchor)),
    random,
  ).slice(0, deliveries)

  let forgeriesBelieved = 0
  let genuineRefused = 0
  const left = [...acts]
  const lane = async () => {
    for (let act = left.pop(); act !== undefined; act = left.pop()) {
      const { status } = await gateway.deliver(act.delivered)
      if (act.isForged && status < 400) forgeriesBelieved += 1
      if (!act.isForged && status !== 200) genuineRefused += 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))

  const { rows } = await postgres.query<{ id: string }>(
    `select t.id, o.upstream, o.next_poll_at <= now() as "isDue",
            (select count(*) from task_events e where e.task_id = t.id and e.kind = 'processing') as processings,
            (select count(*) from task_attempts a where a.task_id = t.id and a.is_duplicate) as duplicates,
            (select count(*) from webhook_receipts h where starts_with(h.id, t.id || ' ')) as heard
       from video_tasks t left join open_tasks o on o.task_id = t.id where t.id = any ($1)`,
    [actors.map(({ taskId }) => taskId)],
  )
  const found = new Map(rows.map(({ id, ...rest }) => [id, rest]))
  const wrongTasks = actors
    .map((actor) => ({ ...actor, found: found.get(actor.taskId), expected: expectedOf(gateway, actor) }))
    .filter((each) => !isDeepStrictEqual(each.found, each.expected))
  return {
    deliveries: acts.length,
    tasks: actors.length,
    forgeries: acts.filter(({ isForged }) => isForged).length,
    forgeriesBelieved,
    genuineRefused,
    wrongTasks,
  }
}
