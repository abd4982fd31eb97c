/**
 * The customers of a run: they create tasks at a steady rate, read them, and follow some of them. All of them repeat
 * what fails, so a fault should go unnoticed.
 */
import { createAccount, createKey } from '../kit/factories.ts'
import { modelOf, type FaultStack, type VendorName } from './fault-stack.ts'
import { followTask, type Followed } from './follow-task.ts'
import { send } from './retrying.ts'

interface Create {
  prompt: string
  startedAtMs: number
  /** Set once a create is confirmed. */
  taskId?: string
  confirmedAtMs?: number
  isSettled: boolean
}

export interface Client {
  accountIds: string[]
  creates: Create[]
  /** The requests that failed after the last retry. */
  failures: string[]
  followed: Followed[]
  /** The creates confirmed since then, as a share of those that began. */
  confirmedShare: (sinceMs: number) => number
  /** Adds accounts whose tasks are judged as well; returns a key of each. */
  addAccounts: (count: number) => Promise<string[]>
  /** Creates this many tasks at once, besides the steady ones. */
  burst: (count: number, vendor: VendorName) => void
  /** Stops creating. */
  stop: () => void
  /** Ends all customers; requests under way are given up. */
  end: () => Promise<void>
}

const accounts = 20
const followEvery = 4
const readsPerSecond = 4
/** Customers with so many open tasks wait. A machine that is slower than their rate would otherwise never catch up. */
const openTasksMax = 240
/** Readers ask for one of so many of the latest tasks. */
const recentTasks = 40

let runs = 0

export const startClient = async (
  { origins, withDatabase }: FaultStack,
  { createsPerSecond, vendors }: { createsPerSecond: number; vendors: VendorName[] },
): Promise<Client> => {
  runs += 1
  const run = runs
  const accountIds: string[] = []
  const addAccounts = (count: number) =>
    withDatabase((postgres) =>
      Promise.all(
        Array.from({ length: count }, async () => {
          const accountId = await createAccount(postgres, { balance: 1_000_000 })
          accountIds.push(accountId)
          return (await createKey(postgres, accountId)).text
        }),
      ),
    )
  const keys = await addAccounts(accounts)
  const creates: Create[] = []
  const failures: string[] = []
  const followed: Followed[] = []
  const underWay = new Set<Promise<unknown>>()
  const over = new AbortController()
  const track = (work: Promise<unknown>) => {
    const tracked: Promise<unknown> = work.finally(() => underWay.delete(tracked))
    underWay.add(tracked)
  }
  const confirmed: { taskId: string; key: string }[] = []

  const create = async (vendor: VendorName) => {
    const index = creates.length
    const key = keys[index % keys.length] ?? ''
    const prompt = `A whale, take ${run}.${index}`
    const made: Create = { prompt, startedAtMs: Date.now(), isSettled: false }
    creates.push(made)
    const sent = await send({
      ...{ origins, key, path: '/v1/videos', method: 'POST', signal: over.signal },
      headers: { 'content-type': 'application/json', 'idempotency-key': `take-${run}.${index}` },
      body: JSON.stringify({ model: modelOf[vendor], prompt, seconds: 4, size: '480x480' }),
    })
    if (over.signal.aborted) return
    made.isSettled = true
    if (sent.kind === 'failed') {
      failures.push(`create: ${sent.reason}`)
      return
    }
    made.taskId = String(sent.body['id'])
    made.confirmedAtMs = Date.now()
    confirmed.push({ taskId: made.taskId, key })
    if (index % followEvery === 0) {
      const following = followTask({ origins, key, taskId: made.taskId, signal: over.signal })
      followed.push(following.followed)
      track(following.ended)
    }
  }

  const read = async () => {
    const recent = confirmed.slice(-recentTasks)
    const chosen = recent[Math.floor(Math.random() * recent.length)]
    if (chosen === undefined) return
    const { taskId, key } = chosen
    const sent = await send({ origins, key, path: `/v1/videos/${taskId}`, signal: over.signal })
    if (sent.kind === 'failed' && !over.signal.aborted) failures.push(`read of ${taskId}: ${sent.reason}`)
  }

  /** An estimate: only some tasks are followed to their end. */
  const countOpenTasks = () => followed.filter(({ hasEnded }) => !hasEnded).length * followEvery
  const creating = setInterval(() => {
    if (countOpenTasks() < openTasksMax)
      track(create(vendors[creates.length % vendors.length] ?? 'repeatable'))
  }, 1_000 / createsPerSecond)
  const reading = setInterval(() => track(read()), 1_000 / readsPerSecond)
  const stop = () => clearInterval(creating)

  return {
    accountIds,
    addAccounts,
    confirmedShare: (sinceMs) => {
      const countSince = (timeOf: (create: Create) => number | undefined) =>
        creates.filter((create) => (timeOf(create) ?? 0) >= sinceMs).length
      return countSince((create) => create.confirmedAtMs) / countSince((create) => create.startedAtMs)
    },
    creates,
    failures,
    followed,
    burst: (count, vendor) => {
      for (let made = 0; made < count; made += 1) track(create(vendor))
    },
    stop,
    end: async () => {
      stop()
      clearInterval(reading)
      over.abort()
      await Promise.all(underWay)
    },
  }
}
