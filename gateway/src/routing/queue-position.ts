/**
 * The place of a waiting task in a fair queue, as a range. In start-time fair queueing, two owners with waiting tasks are
 * served equally, up to one task of each. So the tasks that start before this one are known only between two bounds.
 */

export interface Range {
  min: number
  max: number
}

/** Waiting tasks, what they cost the queue together, and the most that one of them costs. */
export interface Waiting {
  tasks: number
  cost: number
  costMax: number
}

/** The keys of an account share its turns by the same rule. */
export interface WaitingAccount extends Waiting {
  keys: Map<string, Waiting>
}

/** A waiting task, and the tasks of its key that were accepted before it. */
export interface OwnPlace {
  accountId: string
  keyId: string
  cost: number
  /** An infinite maximum means that not all were counted. */
  ahead: { tasks: Range; cost: Range }
}

const averageCost = ({ tasks, cost }: Waiting): number => Math.max(cost / Math.max(tasks, 1), Number.EPSILON)

/** How many tasks of another owner start while this one, whose tasks cost at most `ownCostMax`, is served. */
const startsOf = (other: Waiting, served: Range, ownCostMax: number): Range => {
  const each = averageCost(other)
  const lead = ownCostMax + other.costMax
  const within = (tasks: number) => Math.min(other.tasks, Math.max(0, tasks))
  return {
    min: within(Math.floor((served.min - lead) / each)),
    max: within(Math.ceil((served.max + lead) / each)),
  }
}

type Sum = OwnPlace['ahead']

/** Adds what other owners start meanwhile. */
const withOthers = (
  own: Sum,
  others: Iterable<[string, Waiting]>,
  ownName: string,
  ownCostMax: number,
): Sum => {
  const sum = { tasks: { ...own.tasks }, cost: { ...own.cost } }
  for (const [name, other] of others) {
    if (name === ownName) continue
    const { min, max } = startsOf(other, own.cost, ownCostMax)
    const each = averageCost(other)
    sum.tasks.min += min
    sum.tasks.max += max
    sum.cost.min += min * each
    sum.cost.max += max * each
  }
  return sum
}

/** How many waiting tasks start before this one. Tasks that are accepted later may start before it, too. */
export const positionIn = (accounts: ReadonlyMap<string, WaitingAccount>, own: OwnPlace): Range => {
  const account = accounts.get(own.accountId)
  const keys = account?.keys ?? new Map<string, Waiting>()
  const key = keys.get(own.keyId)
  const { tasks, cost } = own.ahead
  const ofKey = Number.isFinite(tasks.max)
    ? own.ahead
    : {
        tasks: { min: tasks.min, max: Math.max(tasks.min, (key?.tasks ?? 0) - 1) },
        cost: { min: cost.min, max: Math.max(cost.min, (key?.cost ?? 0) - own.cost) },
      }
  const ofAccount = withOthers(ofKey, keys, own.keyId, key?.costMax ?? own.cost)
  return withOthers(ofAccount, accounts, own.accountId, account?.costMax ?? own.cost).tasks
}
