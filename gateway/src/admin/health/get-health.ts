import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Handler } from '../../http/call.ts'
import type { Catalog } from '../../models/catalog.ts'
import { heartbeat } from '../../platform/engine/supervise-engine.ts'
import { findJobAge } from '../../platform/engine/tick-store.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { combineStates } from '../../status/judge-kind.ts'
import { observeOnce } from '../../status/observe-service.ts'
import { readStates } from '../../status/status-store.ts'
import { capabilityFor } from '../providers/capability-for.ts'
import { viewProviders, type ProviderDependencies } from '../providers/view-providers.ts'
import { secondsOf } from '../unix-time.ts'

export const getHealth =
  ({
    postgres,
    offered,
    ...dependencies
  }: ProviderDependencies & {
    postgres: Postgres
    /** The models that customers can use. */
    offered: Catalog
  }): Handler<typeof adminOperations.getHealth> =>
  async () => {
    await observeOnce({ postgres, catalog: offered, router: dependencies.router, capabilityFor })
    const states = await readStates(postgres)
    const providers = await viewProviders(postgres, dependencies, { after: '', count: Infinity })
    const seenSeconds = await findJobAge(postgres, heartbeat.loop, heartbeat.key)
    return {
      body: {
        object: 'health',
        state: states.length === 0 ? 'down' : combineStates(states.map(({ state }) => state)),
        updated_at: Math.max(0, ...states.map(({ observedAt }) => secondsOf(observedAt))),
        worker_seen_seconds_ago: seenSeconds === undefined ? null : Math.floor(seenSeconds),
        kinds: states.map(({ kind, state, since, reasons }) => ({
          ...{ kind, state, reasons },
          since: secondsOf(since),
        })),
        providers: providers.map(({ name, enabled, problem, models, ...load }) => ({
          ...{ name, enabled, problem },
          unhealthy_models: models.flatMap(({ model, health }) =>
            health.state === 'healthy' ? [] : { model, health },
          ),
          spend: load.spend,
          tasks_in_flight: load.tasks_in_flight,
          tasks_waiting: load.tasks_waiting,
        })),
      },
    }
  }
