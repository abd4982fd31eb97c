/** The engine's own list of what it carries. */
import type { Engine } from './restate.ts'

export interface Invocation {
  id: string
  service: string
  key: string
  status: string
}

const quoted = (texts: string[]) => texts.map((text) => `'${text.replaceAll("'", "''")}'`).join(', ')

/** The invocations of these services that have not ended, or only those with these keys. */
export const readInvocations = (engine: Engine, services: string[], keys?: string[]): Promise<Invocation[]> =>
  engine.query<Invocation>(
    `select id, target_service_name as service, target_service_key as key, status from sys_invocation
      where status <> 'completed' and target_service_name in (${quoted(services)})
        ${keys === undefined ? '' : `and target_service_key in (${quoted(keys)})`}`,
  )
