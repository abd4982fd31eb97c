/** What happens to the machines and the network between them while customers use the service. */
import { setTimeout as sleep } from 'node:timers/promises'

import { until, type Part } from '../faults/part.ts'
import { rolesAtStart, type ClusterStack, type MachineName } from './cluster-stack.ts'

export interface ClusterFault {
  /** Causes the fault and repairs it. Returns when everything runs again. */
  run: (
    stack: ClusterStack,
    options: { cutMs: number; previous: () => string; current: string },
  ) => Promise<void>
  /** Part of the short form. */
  isQuick?: true
}

/** As a supervisor starts a process again. */
const downMs = 1_000

const killed =
  (
    partOf: (stack: ClusterStack) => Pick<Part, 'kill' | 'start'> | Promise<Pick<Part, 'kill' | 'start'>>,
  ): ClusterFault['run'] =>
  async (stack) => {
    const part = await partOf(stack)
    await part.kill()
    await sleep(downMs)
    await part.start()
  }

const at = <Item>(items: readonly Item[], index: number): Item => {
  const item = items[index]
  if (item === undefined) throw new Error(`there is no part ${index}`)
  return item
}

/** The machine of the server that accepts writes, or of the other one. */
const databaseMachine = ({ database }: ClusterStack, isPrimary: boolean): MachineName =>
  (database.primary() === 0) === isPrimary ? 'db-1' : 'db-2'
const redisMachine = async ({ redis }: ClusterStack): Promise<MachineName> =>
  (await redis.primary()) === 0 ? 'redis-1' : 'redis-2'

type NameOf = MachineName | ((stack: ClusterStack) => MachineName | Promise<MachineName>)
const nameAt = (stack: ClusterStack, name: NameOf) => (typeof name === 'string' ? name : name(stack))
const primary: NameOf = (stack) => databaseMachine(stack, true)
const standby: NameOf = (stack) => databaseMachine(stack, false)

const cut =
  (one: NameOf, other: NameOf): ClusterFault['run'] =>
  async (stack, { cutMs }) => {
    const [near, far] = [await nameAt(stack, one), await nameAt(stack, other)]
    const repair = await stack.machines[near].cutFrom(stack.machines[far])
    try {
      await sleep(cutMs)
    } finally {
      await repair()
    }
  }

const restart = async (part: Part) => {
  await part.kill('SIGTERM')
  await part.start()
}

const pairs: Record<string, readonly [NameOf, NameOf]> = {
  'api-1 | primary': ['api-1', primary],
  'worker-1 | primary': ['worker-1', primary],
  'primary | standby': [primary, standby],
  'api-1 | proxy': ['api-1', 'proxy'],
  'worker-1 | proxy': ['worker-1', 'proxy'],
  'api-1 | redis primary': ['api-1', redisMachine],
  'redis-1 | redis-2': ['redis-1', 'redis-2'],
  'worker-1 | vendor': ['worker-1', 'vendor'],
  'worker-1 | s3': ['worker-1', 's3'],
  'restate-1 | restate-2': ['restate-1', 'restate-2'],
  'restate-1 | proxy': ['restate-1', 'proxy'],
  'restate-1 | s3': ['restate-1', 's3'],
}
const quickPairs = ['api-1 | primary', 'worker-1 | proxy']

export const clusterFaults: Record<string, ClusterFault> = {
  'kill api': { run: killed(({ apis }) => at(apis, 0)), isQuick: true },
  'kill worker': { run: killed(({ workers }) => workers[0]), isQuick: true },
  'kill built-in provider': { run: killed(({ locals }) => at(locals, 0)) },
  'kill restate node': { run: killed(({ restate }) => at(restate, 0)), isQuick: true },
  'kill primary': { run: killed(({ database }) => database.servers[database.primary()]) },
  'kill standby': { run: killed(({ database }) => database.servers[database.primary() === 0 ? 1 : 0]) },
  'kill redis primary': {
    // Longer than the sentinels wait, so that they replace it.
    run: async ({ redis }) => {
      const before = await redis.primary()
      const server = redis.servers[before]
      await server.kill()
      await until('the sentinels have replaced it', async () => (await redis.primary()) !== before)
      await server.start()
    },
  },
  'kill sentinel': { run: killed(({ redis }) => at(redis.sentinels, 0)) },
  'kill s3 gateway': {
    run: killed(({ ceph }) => ({ kill: () => ceph.killGateway(), start: () => ceph.startGateway() })),
  },
  'kill proxy': { run: killed(({ proxy }) => proxy) },
  'promote standby': {
    run: async ({ database }) => {
      await database.promote()
      await database.rejoin()
    },
    isQuick: true,
  },
  ...Object.fromEntries(
    Object.entries(pairs).map(([name, [one, other]]) => [
      `cut ${name}`,
      { run: cut(one, other), ...(quickPairs.includes(name) && { isQuick: true as const }) },
    ]),
  ),
  'add and remove machines': {
    run: async ({ apis, workers, setRoles }) => {
      const added = [at(apis, rolesAtStart), at(workers, rolesAtStart)]
      await Promise.all(added.map((part) => part.start()))
      await setRoles(rolesAtStart + 1)
      await sleep(10_000)
      await Promise.all(added.map((part) => part.kill('SIGTERM')))
      await setRoles(rolesAtStart)
    },
  },
  'upgrade all': {
    run: async ({ apis, workers, locals, setVersion }, { previous, current }) => {
      const roles = [...apis.slice(0, rolesAtStart), ...workers.slice(0, rolesAtStart), ...locals]
      for (const command of [previous(), current])
        for (const role of roles) {
          await setVersion(role, command)
          await restart(role)
        }
    },
  },
}
