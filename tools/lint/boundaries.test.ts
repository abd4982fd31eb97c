import { readdir } from 'node:fs/promises'
import path from 'node:path'

import { describe, expect, it } from 'vitest'

import { lintFixture } from './lint-fixture.ts'

const gatewaySource = path.resolve(import.meta.dirname, '../../gateway/src')

/** File, its text, and the expected message. */
const broken: [file: string, text: string, message: string][] = [
  // Forbidden imports.
  ['gateway/src/auth/a.ts', "import '../videos/x.ts'", 'auth must not import ../videos/x.ts'],
  ['gateway/src/models/a.ts', "import '../videos/x.ts'", 'models must not import'],
  ['gateway/src/storage/a.ts', "import '../models/x.ts'", 'storage must not import'],
  ['gateway/src/safe-fetch/a.ts', "import '../http/x.ts'", 'safe-fetch must not import'],
  ['gateway/src/http/a.ts', "import '../videos/x.ts'", 'http must not import'],
  [
    'gateway/src/rate-limits/a.ts',
    "import { c } from '../auth/caller.ts'\nc()",
    'limits may import only types from',
  ],
  [
    'gateway/src/rate-limits/b.ts',
    "import { type C } from '../auth/caller.ts'\nexport type D = C",
    'write import type',
  ],
  ['gateway/src/billing/a.ts', "import '../videos/x.ts'", 'billing must not import'],
  ['gateway/src/videos/a.ts', "import '../auth/x.ts'", 'videos may import only types from'],
  ['gateway/src/videos/b.ts', "export * from '../chat/x.ts'", 'videos must not import'],
  ['gateway/src/videos/c.ts', "export { x } from '../providers/openai/x.ts'", 'videos must not import'],
  [
    'gateway/src/videos/d.ts',
    "export const x = import('../providers/registry.ts')",
    'videos must not import',
  ],
  ['gateway/src/videos/e.ts', "export type X = import('../admin/x.ts').X", 'videos must not import'],
  ['gateway/src/videos/f.ts', "import '../config.ts'", 'videos must not import ../config.ts'],
  ['gateway/src/videos/g.ts', "import '../../../local/src/server/server.ts'", 'videos must not import'],
  ['gateway/src/videos/h.ts', "import '@kinora/local/server'", 'videos must not import @kinora/local/server'],
  ['gateway/src/audio/a.ts', "import '../videos/x.ts'", 'audio must not import'],
  ['gateway/src/transcription-tasks/a.ts', "import '../videos/x.ts'", 'transcription-tasks must not import'],
  ['gateway/src/chat/a.ts', "import '../characters/x.ts'", 'chat must not import'],
  ['gateway/src/admin/a.ts', "import '../http/x.ts'", 'admin may import only types from'],
  [
    'gateway/src/platform/a.ts',
    "import '@kinora/contract/errors'",
    'platform must not import @kinora/contract',
  ],
  ['gateway/src/providers/port/a.ts', "import '@kinora/contract/errors'", 'providers/port must not import'],
  ['gateway/src/providers/port/b.ts', "import '../../platform/x.ts'", 'providers/port must not import'],
  ['gateway/src/providers/port/c.ts', "import 'typebox'", 'of npm it may import nothing else'],
  ['gateway/src/providers/kit/a.ts', "import '../openai/x.ts'", 'providers/kit must not import'],
  ['gateway/src/providers/openai/a.ts', "import '../local/x.ts'", 'providers/openai must not import'],
  ['gateway/src/providers/openai/b.ts', "import '../../safe-fetch/x.ts'", 'providers/openai must not import'],
  ['gateway/src/providers/registry.ts', "import '../videos/x.ts'", 'providers/registry.ts must not import'],
  ['gateway/src/config.ts', "import './platform/log.ts'\nimport 'pino'", 'config.ts must not import pino'],
  ['gateway/src/brand-new/a.ts', '', 'brand-new has no row in tools/lint/boundary-table.mjs'],
  ['gateway/src/brand-new.ts', '', 'brand-new.ts has no row'],
  ['gateway/src/providers/brand-new.ts', '', 'providers/brand-new.ts has no row'],
  ['gateway/src/providers/brand-new/a.ts', "import '../openai/x.ts'", 'providers/brand-new must not import'],
  ['contract/src/a.ts', "import 'node:fs'", '/contract/src must not import node:fs'],
  ['contract/src/b.ts', "import 'fastify'", 'of npm it may import typebox'],
  ['contract/src/c.ts', "import '../../gateway/src/main.ts'", '/contract/src must not import'],
  ['local/src/a.ts', "import '@kinora/contract/errors'", '/local/src must not import @kinora/contract'],
  ['cli/src/a.ts', "import '@kinora/gateway/wiring'", '/cli/src must not import @kinora/gateway/wiring'],
  ['cli/src/b.ts', "import '../../gateway/src/main.ts'", '/cli/src must not import'],
  ['dev/a.ts', "import '@kinora/gateway/main'", '/dev must not import @kinora/gateway/main'],
  ['dev/b.ts', "import '../gateway/src/main.ts'", '/dev must not import'],

  // Restricted packages, SQL, fetch and the environment.
  [
    'gateway/src/videos/restricted-a.ts',
    "import type { FastifyRequest } from 'fastify'",
    'fastify may be imported only in',
  ],
  ['gateway/src/http/restricted-a.ts', "import '@fastify/busboy'", '@fastify/busboy may be imported only in'],
  ['gateway/src/videos/restricted-b.ts', "import 'pg'", 'pg may be imported only in'],
  ['gateway/src/main.ts', "import 'pg'", 'pg may be imported only in'],
  [
    'gateway/src/videos/restricted-c.ts',
    "import '@restatedev/restate-sdk'",
    '@restatedev/restate-sdk may be imported',
  ],
  ['gateway/src/videos/restricted-d.ts', "import '@restatedev/restate-sdk/fetch'", 'may be imported only in'],
  ['gateway/src/videos/restricted-e.ts', "import 'undici'", 'undici may be imported only in'],
  ['gateway/src/videos/restricted-f.ts', "export const x = fetch('http://a')", 'fetch may be called only in'],
  [
    'gateway/src/videos/restricted-g.ts',
    "export const x = globalThis.fetch('http://a')",
    'fetch may be called only in',
  ],
  ['gateway/src/http/restricted-b.ts', "import 'ioredis'", 'ioredis may be imported only in'],
  [
    'gateway/src/http/restricted-c.ts',
    "import 'rate-limiter-flexible'",
    'rate-limiter-flexible may be imported only in',
  ],
  ['gateway/src/wiring/api.ts', "export const x = process.env['HOME']", 'process.env may be read only in'],
  [
    'local/src/restricted-a.ts',
    "import process from 'node:process'\nexport const x = process['env']",
    'process.env may be read only in',
  ],
  ['cli/src/restricted-a.ts', 'export const { env } = process', 'process.env may be read only in'],
  [
    'cli/src/restricted-b.ts',
    "import { env } from 'node:process'\nexport const x = env",
    'process.env may be read only in',
  ],
  ...[
    'select * from tasks',
    'select id, state from tasks where id = $1',
    'SELECT count(*) FROM tasks',
    'select pg_notify($1, $2)',
    'select 1',
    '\n  insert into tasks (id) values ($1)',
    'update tasks set state = $1',
    'delete from tasks where id = $1',
    'with done as (select 1) select * from done',
    'create table if not exists tasks (id uuid)',
    'create unique index tasks_key on tasks (key)',
    'alter table tasks add column x int',
    'begin isolation level serializable',
    'listen task_changes',
    'notify ${channel}',
    'select ${columns} from ${table}',
  ].map((sql, index): [string, string, string] => [
    `gateway/src/videos/sql-${index}.ts`,
    `export const sql = (channel: string, columns = channel, table = columns) => [\`${sql}\`, table]`,
    'SQL may be written only in',
  ]),
]

const correct: [file: string, text: string][] = [
  [
    'gateway/src/auth/fine.ts',
    "import '@kinora/contract/errors'\nimport '../platform/log.ts'\nimport 'node:fs'\nimport './x.ts'",
  ],
  [
    'gateway/src/rate-limits/fine.ts',
    "import type { Caller } from '../auth/caller.ts'\nimport 'ioredis'\nexport type X = Caller",
  ],
  ['gateway/src/http/fine.ts', "import 'fastify'\nimport '../auth/x.ts'\nimport '../rate-limits/x.ts'"],
  ['gateway/src/http/body/multipart.ts', "import '@fastify/busboy'"],
  ['gateway/src/billing/fine.ts', "import '../models/x.ts'\nexport type { Caller } from '../auth/caller.ts'"],
  [
    'gateway/src/videos/fine.ts',
    "import '../billing/x.ts'\nimport '../providers/port/x.ts'\nimport '../safe-fetch/x.ts'\nimport type { C } from '../http/call.ts'\nexport type D = C | import('../auth/caller.ts').Caller",
  ],
  ['gateway/src/chat/fine.ts', "import '../videos/x.ts'\nimport '../storage/x.ts'"],
  ['gateway/src/audio/fine.ts', "import '../models/x.ts'\nimport '../providers/port/x.ts'"],
  ['gateway/src/transcription-tasks/fine.ts', "import '../audio/x.ts'\nimport '../storage/x.ts'"],
  [
    'gateway/src/admin/fine.ts',
    "import '../auth/x.ts'\nimport type { C } from '../http/call.ts'\nexport type D = C",
  ],
  [
    'gateway/src/providers/port/fine.ts',
    "import type { Readable } from 'node:stream'\nexport type X = Readable",
  ],
  [
    'gateway/src/providers/kit/fine.ts',
    "import 'undici'\nimport '../port/x.ts'\nexport const x = () => fetch('http://a')",
  ],
  ['gateway/src/providers/openai/fine.ts', "import '../port/x.ts'\nimport '../kit/x.ts'\nimport './y.ts'"],
  ['gateway/src/providers/brand-new/fine.ts', "import '../port/x.ts'\nimport '../kit/x.ts'\nimport './y.ts'"],
  [
    'gateway/src/seed.ts',
    "import './config.ts'\nimport './providers/registry.ts'\nimport './keys/x.ts'\nimport '@kinora/contract/errors'",
  ],
  ['gateway/src/videos/task-store.ts', "import 'pg'\nexport const sql = 'select * from tasks'"],
  ['gateway/src/platform/engine/loop.ts', "import '@restatedev/restate-sdk'"],
  [
    'gateway/src/platform/postgres.ts',
    "import 'pg'\nexport const sql = 'begin isolation level serializable'",
  ],
  ['gateway/src/platform/engine/nodes.ts', "import 'undici'\nimport '@restatedev/restate-sdk'"],
  ['gateway/src/videos/injected.ts', 'export const x = (fetch: (url: string) => void) => fetch("http://a")'],
  [
    'gateway/src/videos/words.ts',
    "export const x = ['Select a model from the list', 'update your key', 'create a video with sound', 'with care as ever', 'listen closely', 'begin again']",
  ],
  [
    'gateway/src/videos/fine.test.ts',
    "import 'pg'\nimport '../admin/x.ts'\nexport const x = ['select * from tasks', process.env]",
  ],
  ['gateway/test/kit/fine.ts', "import 'pg'\nexport const x = 'select * from tasks'"],
  ['contract/src/fine.ts', "import 'typebox'\nimport './x.ts'"],
  ['local/src/fine.ts', "import 'node:fs'\nimport 'sharp'\nexport const x = () => fetch('http://a')"],
  [
    'cli/src/fine.ts',
    "import '@kinora/gateway/main'\nimport '@kinora/local/server'\nimport '@restatedev/restate-server-linux-x64'",
  ],
  ['dev/fine.ts', "import './x.ts'\nexport const x = ['select * from tasks', process.env]"],
]

describe('kinora/boundaries', async () => {
  const found = await lintFixture({ ...textOf(broken), ...textOf(correct) })
  const reportsFor = (file: string) =>
    (found.get(file) ?? []).filter((message) => message.startsWith('kinora(boundaries)'))

  it.each(broken)('reports %s: %s', (file, _text, message) => {
    expect(reportsFor(file).join('\n')).toContain(message)
  })

  it.each(correct)('accepts %s', (file) => {
    expect(reportsFor(file)).toEqual([])
  })

  it('allows config.ts to read the environment and to use its imports', async () => {
    const text =
      "import 'node:fs'\nimport './platform/secret.ts'\nimport './provider-config/x.ts'\nexport const x = process.env"
    const alone = await lintFixture({ 'gateway/src/config.ts': text })
    expect(alone.get('gateway/src/config.ts')).not.toContainEqual(expect.stringContaining('kinora('))
  })

  it('has a row for every folder and root file of gateway/src', async () => {
    const entries = [
      ...(await readdir(gatewaySource, { withFileTypes: true })),
      ...(await readdir(path.join(gatewaySource, 'providers'), { withFileTypes: true })),
    ].filter((entry) => entry.name !== 'providers')
    const files = entries.map((entry) => {
      const file = path.relative(gatewaySource, path.join(entry.parentPath, entry.name))
      return `gateway/src/${entry.isDirectory() ? `${file}/empty.ts` : file}`
    })
    expect(files.length).toBeGreaterThan(3)
    const reports = await lintFixture(Object.fromEntries(files.map((file) => [file, 'export {}'])))
    expect([...reports.values()].flat().filter((message) => message.includes('has no row'))).toEqual([])
  })
})

function textOf(cases: (readonly [file: string, text: string, ...rest: string[]])[]): Record<string, string> {
  expect(new Set(cases.map(([file]) => file)).size).toBe(cases.length)
  return Object.fromEntries(cases.map(([file, text]) => [file, text]))
}
