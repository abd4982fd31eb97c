/** The engine's own list of what it carries. */
import type { Engine } from './restate.ts'

export interface Invocation {
  id: string
  service: string
  /** Of a loop; for runs, their idempotency key. */
  key: string
  status: string
}

const quoted = (texts: string[]) => texts.map((text) => `'${text.replaceAll("'", "''")}'`).join(', ')

/** The invocations of these services that have not ended, or only those of these runs and of runs that were started together. */
export const readInvocations = (
  engine: Engine,
  services: string[],
  runKeys?: string[],
): Promise<Invocation[]> =>
  engine.query<Invocation>(
    `select id, target_service_name as service, coalesce(target_service_key, idempotency_key) as key, status from sys_invocation
      where status <> 'completed' and target_service_name in (${quoted(services)})
        ${runKeys === undefined ? '' : `and (idempotency_key in (${quoted(runKeys)}) or idempotency_key like '% %')`}`,
  )
