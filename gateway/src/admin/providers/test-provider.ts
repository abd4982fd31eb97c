import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Postgres } from '../../platform/postgres.ts'
import { findProviderRecord } from '../../provider-config/provider-config-store.ts'
import type { AccessTest } from '../../providers/port/access.ts'
import type { Providers } from '../../providers/port/provider.ts'
import { recordPassedTest } from '../../routing/route-health-store.ts'
import type { AdminHandler } from '../admin-call.ts'
import { presentTestSteps } from './present-test-steps.ts'
import { configProblem, viewProvider, type ProviderDependencies } from './view-providers.ts'

/** The result for a stored configuration that cannot be used: nothing is called. */
const notCalled = (message: string): AccessTest => ({
  isOk: false,
  isKeyVerified: false,
  status: undefined,
  durationMs: 0,
  failedAt: 'configuration',
  message,
})

export const testProvider =
  (
    dependencies: ProviderDependencies & { postgres: Postgres; providers: Pick<Providers, 'get'> },
  ): AdminHandler<typeof adminOperations.testProvider> =>
  async (call) => {
    const { postgres, providers } = dependencies
    const { name } = await viewProvider(postgres, call.path.name, dependencies)
    const record = await findProviderRecord(postgres, name)
    const problem = record === undefined ? null : configProblem(record, dependencies)
    const test = problem === null ? await providers.get(name).testAccess() : notCalled(problem)
    const result = { ok: test.isOk, key_verified: test.isKeyVerified, status: test.status ?? null }
    await postgres.transaction(async (database) => {
      const recovering = test.isOk ? await recordPassedTest(database, name, test.isKeyVerified) : []
      await call.audit(database, {
        ...{ action: 'testProvider', target: name, after: result },
        ...(recovering.length > 0 && { before: { unhealthy_models: recovering } }),
      })
    })
    return {
      body: {
        object: 'provider.test',
        provider: name,
        ...result,
        duration_ms: test.durationMs,
        message: test.message,
        steps: presentTestSteps(test),
        cost_micros: 0,
        currency: dependencies.currency,
      },
    }
  }
