import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { adminOperations } from '../contract/src/admin-operations.ts'
import { errors } from '../contract/src/errors.ts'
import { operations } from '../contract/src/operations.ts'
import { taskErrors } from '../contract/src/task-errors.ts'
import { settings } from '../gateway/src/config.ts'
import { modelConfigSchemas } from '../gateway/src/provider-config/model-config.ts'
import { priceRuleSchema } from '../gateway/src/provider-config/price-config.ts'
import { providerConfigSchema } from '../gateway/src/provider-config/provider-config.ts'
import { referenceModels } from '../gateway/src/provider-config/reference-models.ts'
import { routeConfigSchema } from '../gateway/src/provider-config/route-config.ts'
import { protocols } from '../gateway/src/providers/registry.ts'
import { documents, staleDocuments } from './generate.ts'

let root: URL

beforeEach(async () => {
  root = pathToFileURL(`${await mkdtemp(`${tmpdir()}/kinora-generate-`)}/`)
})

afterEach(() => rm(root, { recursive: true }))

const write = async (file: string, text: string) => {
  const path = fileURLToPath(new URL(file, root))
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}

test('a missing or changed document is stale, a current one is not', async () => {
  const texts = documents()
  expect(await staleDocuments(root)).toEqual(Object.keys(texts))
  for (const [file, text] of Object.entries(texts)) await write(file, text)
  expect(await staleDocuments(root)).toEqual([])
  await write('docs/errors.md', 'something else')
  expect(await staleDocuments(root)).toEqual(['docs/errors.md'])
})

test('every error code has its own anchor, every task error a row', () => {
  const page = documents()['docs/errors.md'] ?? ''
  for (const code of Object.keys(errors)) expect(page.split('\n')).toContain(`### ${code}`)
  for (const code of Object.keys(taskErrors)) expect(page).toContain(`| \`${code}\` |`)
})

test('an error lists the operations that return it', () => {
  const [, section = ''] = (documents()['docs/errors.md'] ?? '').split('### task_not_found\n')
  const line = section.split('\n').find((text) => text.startsWith('- Returned by:'))
  expect(line).toContain('`GET /v1/videos/{id}`')
  expect(line).not.toContain('`GET /v1/models`')
})

test('the OpenAPI document contains every operation', () => {
  const { paths } = JSON.parse(documents()['docs/openapi.json'] ?? '') as { paths: Record<string, unknown> }
  for (const { path } of Object.values(operations)) expect(paths).toHaveProperty([path])
})

test('every setting is in the example and in the table, without defaults that depend on this machine', () => {
  const { '.env.example': example = '', 'docs/configuration.md': page = '' } = documents()
  for (const [name, row] of Object.entries<{ default?: string }>(settings)) {
    expect(page).toContain(`| \`${name}\` |`)
    expect(example.split('\n').filter((line) => /^(?:# )?[A-Z0-9_]+=/.test(line))).toContainEqual(
      expect.stringMatching(row.default === undefined ? `^${name}=$` : `^# ${name}=`),
    )
  }
  expect(page).toContain('| `LOCAL_RENDERS` | one per core |')
  expect(example).toContain('# LOCAL_RENDERS=\n')
})

test('the page of the admin API lists each operation with the roles that may call it', () => {
  const lines = (documents()['docs/admin-api.md'] ?? '').split('\n')
  expect(lines).toContain('| operation | read | support | finance | admin |')
  expect(lines).toContain('| `GET /admin/v1/accounts` | yes | yes | yes | yes |')
  expect(lines).toContain('| `POST /admin/v1/tasks/{id}/cancel` | – | yes | – | yes |')
  expect(lines).toContain('| `POST /admin/v1/operator-keys` | – | – | – | yes |')
  const rows = lines.filter((line) => / (?:yes|–) \|$/.test(line))
  const closed = Object.values(adminOperations).filter(({ access }) => access === 'operator')
  expect(rows).toHaveLength(closed.length)
})

test('the providers page lists every setting of providers, models and routes, and those of each kind under its name', () => {
  const page = documents()['docs/providers.md'] ?? ''
  const common = Object.keys(providerConfigSchema.properties)
  for (const { properties } of [
    providerConfigSchema,
    ...Object.values(modelConfigSchemas),
    routeConfigSchema,
    priceRuleSchema,
  ]) {
    for (const name of Object.keys(properties)) expect(page).toContain(`| \`${name}\` |`)
  }
  for (const [kind, protocol] of Object.entries(protocols)) {
    const [, section = ''] = page.split(`### ${kind}\n`)
    for (const [name, property] of Object.entries(protocol.settings.properties)) {
      expect(section.split('###')[0]).toContain(`| \`${name}\` |`)
      expect(property).toHaveProperty('description')
      // A provider's config holds both, so their names must differ.
      expect(common).not.toContain(name)
    }
  }
})

test('the page of models has the price of every model of the reference, and the names that kinora dev gives them', () => {
  const lines = (documents()['docs/model-list.md'] ?? '').split('\n')
  for (const [id, { prices }] of Object.entries(referenceModels)) {
    const [{ micros }] = prices as [{ micros: number }]
    const rows = lines.filter((line) => line.startsWith(`| \`${id}\` |`))
    expect(rows.join('\n')).toContain(`${micros / 1_000_000}`)
  }
  expect(lines).toContain('| `asr-1` | `whisper-1` | – |')
  expect(lines.find((line) => line.startsWith('| `vidA3` |'))).toMatch(/0\.20 USD per second \|$/)
})
