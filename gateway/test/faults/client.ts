/**
 * The customers of a run: they create tasks at a steady rate, some with an image, read them, follow some of them, and
 * request audio. All of them repeat what fails, so a fault should go unnoticed.
 */
import { pixel } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { startAudioCustomers, type AudioCustomers } from './audio-customers.ts'
import { modelOf, type WatchedStack, type ModelName } from './fault-stack.ts'
import { followTask, type Followed } from './follow-task.ts'
import { createOutages, type Outages } from './outages.ts'
import { jsonOf, send, type Customer } from './retrying.ts'

interface Create {
  prompt: string
  startedAtMs: number
  /** Set once a create is confirmed. */
  taskId?: string
  confirmedAtMs?: number
  isSettled: boolean
  /** How often it was sent. */
  attempts: number
}

export interface Client {
  /** Those that create tasks, and those that request audio. */
  customers: Customer[]
  accountIds: string[]
  creates: Create[]
  audio: AudioCustomers
  outages: Outages
  /** The requests that failed after the last retry. */
  failures: string[]
  followed: Followed[]
  /** The creates confirmed since then, as a share of those that began. */
  confirmedShare: (sinceMs: number) => number
  /** Adds customers whose tasks are judged as well. */
  addCustomers: (count: number) => Promise<Customer[]>
  /** Creates this many tasks at once, besides the steady ones. Directives in their prompts make the vendor misbehave. */
  burst: (count: number, model: ModelName, directives?: string) => void
  /** Whether it creates no more tasks. */
  isStopped: () => boolean
  /** Stops creating. */
  stop: () => void
  /** Ends all customers; requests under way are given up. */
  end: () => Promise<void>
}

export interface ClientOptions {
  createsPerSecond: number
  models: ModelName[]
  /** Customers with so many open tasks wait. A machine that is slower than their rate would otherwise never catch up. */
  openTasksMax: number
}

const customersMin = 20
/** Half of what the default limit of creates allows. */
const createsPerSecondOfCustomer = 0.5
const audioCustomers = 4
const followEvery = 4
const imageEvery = 25
const readsPerSecond = 4
/** Readers ask for one of so many of the latest tasks. */
const recentTasks = 40

let runs = 0
let addresses = 0

/** A multipart form with an image, which the API stores for the task. */
const formOf = (order: Record<string, unknown>): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(order)) form.append(name, String(value))
  form.append('input_reference', pixel, 'picture.png')
  return form
}

export const startClient = async (
  { origins, withDatabase }: WatchedStack,
  { createsPerSecond, models, openTasksMax }: ClientOptions,
): Promise<Client> => {
  runs += 1
  const run = runs
  const customers: Customer[] = []
  const accountIds: string[] = []
  const addCustomers = (count: number) =>
    withDatabase((postgres) =>
      Promise.all(
        Array.from({ length: count }, async () => {
          const accountId = await createAccount(postgres, { balance: 1_000_000 })
          addresses += 1
          const address = `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`
          // Without limits of its own, the key has the default ones.
          const { text } = await createKey(postgres, accountId, { limits: {} })
          const customer = { accountId, key: text, address }
          customers.push(customer)
          accountIds.push(accountId)
          return customer
        }),
      ),
    )
  const creators = await addCustomers(
    Math.max(customersMin, Math.ceil(createsPerSecond / createsPerSecondOfCustomer)),
  )
  const creates: Create[] = []
  let unanswered = 0
  const outages = createOutages()
  const failures: string[] = []
  const followed: Followed[] = []
  const underWay = new Set<Promise<unknown>>()
  const over = new AbortController()
  const track = (work: Promise<unknown>) => {
    const tracked: Promise<unknown> = work.finally(() => underWay.delete(tracked))
    underWay.add(tracked)
  }
  const audio = startAudioCustomers({
    ...{ name: String(run), origins, track, signal: over.signal },
    customers: await addCustomers(audioCustomers),
    onFailure: (reason) => failures.push(reason),
  })
  const confirmed: { taskId: string; customer: Customer }[] = []

  const create = async (model: ModelName, directives = '') => {
    const index = creates.length
    const customer = creators[index % creators.length]
    if (customer === undefined) return
    const prompt = `A whale, take ${run}.${index} ${directives}`.trimEnd()
    const made: Create = { prompt, startedAtMs: Date.now(), isSettled: false, attempts: 0 }
    creates.push(made)
    const order = { model: modelOf[model], prompt, seconds: 4, size: '480x480' }
    const hasImage = index % imageEvery === 0
    outages.begin()
    unanswered += 1
    const sent = await send({
      ...{ ...customer, origins, path: '/v1/videos', method: 'POST', signal: over.signal },
      headers: {
        'idempotency-key': `take-${run}.${index}`,
        ...(!hasImage && { 'content-type': 'application/json' }),
      },
      body: hasImage ? formOf(order) : JSON.stringify(order),
    })
    unanswered -= 1
    outages.end(sent.kind === 'ok')
    if (over.signal.aborted) return
    made.isSettled = true
    made.attempts = sent.attempts
    if (sent.kind === 'failed') {
      failures.push(`create: ${sent.reason}`)
      return
    }
    const taskId = String(jsonOf(sent.bytes)['id'])
    made.taskId = taskId
    made.confirmedAtMs = Date.now()
    confirmed.push({ taskId, customer })
    if (index % followEvery === 0) {
      const following = followTask({ ...customer, origins, taskId, signal: over.signal })
      followed.push(following.followed)
      track(following.ended)
    }
  }

  const read = async () => {
    const recent = confirmed.slice(-recentTasks)
    const chosen = recent[Math.floor(Math.random() * recent.length)]
    if (chosen === undefined) return
    const { taskId, customer } = chosen
    const sent = await send({ ...customer, origins, path: `/v1/videos/${taskId}`, signal: over.signal })
    if (sent.kind === 'failed' && !over.signal.aborted) failures.push(`read of ${taskId}: ${sent.reason}`)
  }

  /** An estimate: only some tasks are followed to their end. */
  const countOpenTasks = (model: ModelName) =>
    followed.filter(({ hasEnded, taskId }) => !hasEnded && taskId.startsWith(`${modelOf[model]}:`)).length *
    followEvery
  /** Customers of a model whose provider is away, or whose API stands still, do not keep the others waiting. */
  const mayCreate = (model: ModelName) =>
    unanswered < 2 * openTasksMax && countOpenTasks(model) < openTasksMax / models.length
  let isStopped = false
  let turn = 0
  const creating = setInterval(() => {
    turn += 1
    const model = models[turn % models.length] ?? 'repeatable'
    if (mayCreate(model)) track(create(model))
  }, 1_000 / createsPerSecond)
  const reading = setInterval(() => track(read()), 1_000 / readsPerSecond)
  const stop = () => {
    isStopped = true
    clearInterval(creating)
    audio.stop()
  }

  return {
    customers,
    accountIds,
    addCustomers,
    confirmedShare: (sinceMs) => {
      const countSince = (timeOf: (create: Create) => number | undefined) =>
        creates.filter((create) => (timeOf(create) ?? 0) >= sinceMs).length
      return countSince((create) => create.confirmedAtMs) / countSince((create) => create.startedAtMs)
    },
    creates,
    audio,
    outages,
    failures,
    followed,
    burst: (count, model, directives) => {
      for (let made = 0; made < count; made += 1) track(create(model, directives))
    },
    isStopped: () => isStopped,
    stop,
    end: async () => {
      stop()
      clearInterval(reading)
      over.abort()
      await Promise.all(underWay)
    },
  }
}
