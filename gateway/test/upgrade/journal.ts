/** Reads the journals of the engine: which commands each invocation has given, such as its steps, in their order. */

export interface Journal {
  service: string
  key: string
  commands: string[]
}

/** What a worker logs if the commands of a run are not those in its journal. */
export const journalMismatch = /RestateError: \(570\)/

interface Entry {
  id: string
  service: string
  key: string
  entry: string
}

const call = async <Answer>(url: string, method: string, body?: unknown): Promise<Answer> => {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`the engine answered ${response.status} to ${method} ${url}: ${text}`)
  return JSON.parse(text) as Answer
}

const query = async <Row>(adminUrl: string, sql: string): Promise<Row[]> =>
  (await call<{ rows: Row[] }>(`${adminUrl}/query`, 'POST', { query: sql })).rows

/**
 * Makes the engine keep the journals of invocations that begin from now on, until a worker registers again. Returns what
 * is served, as `service/handler`.
 */
export const keepJournals = async (adminUrl: string): Promise<string[]> => {
  const { services } = await call<{ services: { name: string; handlers: { name: string }[] }[] }>(
    `${adminUrl}/services`,
    'GET',
  )
  const retention = { journal_retention: '1h', idempotency_retention: '1h' }
  for (const { name } of services) await call(`${adminUrl}/services/${name}`, 'PATCH', retention)
  return services
    .flatMap(({ name, handlers }) => handlers.map((handler) => `${name}/${handler.name}`))
    .toSorted()
}

interface Details {
  name?: string
  key?: string
  invocation_target?: Record<string, { name: string; handler: string }>
}

/** A command with the name of its step, its state or its target, such as `Run submit`. */
const commandOf = ({ entry }: Entry): string => {
  const [[type, { name, key, invocation_target: target = {} }] = ['', {} as Details]] = Object.entries(
    (JSON.parse(entry) as { Command: Record<string, Details> }).Command,
  )
  const called = Object.values(target).map((each) => `${each.name}/${each.handler}`)
  return [type, name ?? key ?? '', ...called].filter((word) => word !== '').join(' ')
}

/** The journals of all invocations that have ended. */
export const readJournals = async (adminUrl: string): Promise<Journal[]> => {
  const entries = await query<Entry>(
    adminUrl,
    `select j.id, i.target_service_name as service, i.target_service_key as key, j.entry_lite_json as entry
       from sys_journal j join sys_invocation i on i.id = j.id
      where i.status = 'completed' and j.entry_type like 'Command%'
      order by j.id, j.index`,
  )
  return [...Map.groupBy(entries, ({ id }) => id).values()].map((ofInvocation) => ({
    service: ofInvocation[0]?.service ?? '',
    key: ofInvocation[0]?.key ?? '',
    commands: ofInvocation.map(commandOf),
  }))
}

/** Makes every loop tick, and schedule its next tick. */
export const startLoops = async (ingressUrl: string, adminUrl: string): Promise<void> => {
  const loops = await query<{ service: string; key: string }>(
    adminUrl,
    'select distinct service_name as service, service_key as key from state',
  )
  for (const { service, key } of loops)
    await call(`${ingressUrl}/restate/send/${service}/${encodeURIComponent(key)}/tick`, 'POST', {})
}

/** How many invocations are under way, without those that are only scheduled. */
export const countUnderWay = async (adminUrl: string): Promise<number> => {
  const rows = await query<{ count: number }>(
    adminUrl,
    `select count(1) as count from sys_invocation where status not in ('completed', 'scheduled')`,
  )
  return rows[0]?.count ?? 0
}

/**
 * The commands without the repetitions of loops, whose number depends on the run: a single command is kept once, and a pair,
 * such as to sleep and to try again, twice.
 */
export const withoutRepeats = (commands: string[]): string[] => {
  const kept: string[] = []
  for (const command of commands) {
    if (command === kept.at(-1)) continue
    kept.push(command)
    const [third, second, last] = [-6, -4, -2].map((from) => kept.slice(from, from + 2 || undefined).join())
    if (kept.length >= 6 && last === second && second === third) kept.splice(-2)
  }
  return kept
}

/** One order of all commands that agrees with each of these lists, which have a part of them. */
export const commonOrder = (lists: string[][]): string[] => {
  const remaining = new Set(lists.flat())
  const order: string[] = []
  while (remaining.size > 0) {
    const isNext = (command: string) =>
      lists.every((list) => {
        const at = list.indexOf(command)
        return list.slice(0, Math.max(at, 0)).every((each) => !remaining.has(each))
      })
    const next = [...remaining].filter(isNext).toSorted()[0]
    if (next === undefined) throw new Error(`these commands have no common order: ${JSON.stringify(lists)}`)
    remaining.delete(next)
    order.push(next)
  }
  return order
}
