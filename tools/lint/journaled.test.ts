import { describe, expect, it } from 'vitest'

import { lintFixture } from './lint-fixture.ts'

/** Statements of a handler, with the expected message. */
const broken: [statements: string, message: string][] = [
  ['return Date.now()', 'Date.now is not journaled'],
  ['return new Date()', 'new Date() is not journaled'],
  ['return Date()', 'Date() is not journaled'],
  ['return Math.random()', 'Math.random is not journaled'],
  ['return performance.now()', 'performance.now is not journaled'],
  ['return crypto.randomUUID()', 'crypto.randomUUID is not journaled'],
  ['return randomUUID()', 'randomUUID() is not journaled'],
  ['return process.env', 'process.env is not journaled'],
  ['return process.hrtime()', 'process.hrtime is not journaled'],
  ['setTimeout(() => {}, 5)', 'setTimeout() is not journaled'],
  ['setInterval(() => {}, 5)', 'setInterval() is not journaled'],
  ['return fetch(input)', 'fetch() is not journaled'],
  ['await fetch(input)', 'fetch() is not journaled'],
  ['await store.load(input)', 'Awaiting anything but the context'],
  ['await load(input)', 'Awaiting anything but the context'],
  ['const task = store.find(input)\nawait task.load()', 'Awaiting anything but the context'],
  ['return [1].map(() => Math.random())', 'Math.random is not journaled'],
  ['await ctx.run("step", () => 1)\nreturn Date.now()', 'Date.now is not journaled'],
  ['await ctx.run(`step ${Date.now()}`, () => 1)', 'Date.now is not journaled'],
  ['await ctx.sleep(Math.random())', 'Math.random is not journaled'],
  ['await Promise.all([ctx.sleep(1)])', 'Awaiting anything but the context'],
]

const correct: string[] = [
  'return await ctx.date.now()',
  'return ctx.rand.uuidv4()',
  'return new Date(await ctx.date.now())',
  'await ctx.sleep(1_000)',
  'return await ctx.run("step", async () => { await store.load(input); return Date.now() })',
  'return await ctx.run(() => fetch(input))',
  'return await ctx.run("step", () => store.load(input)).orTimeout(5)',
  'await (ctx as any).run("step", () => 1)',
  'const { id, promise } = ctx.awakeable()\nawait ctx.run("submit", () => store.load(id))\nawait promise.orTimeout(5)\nawait promise',
  'const billing = ctx.serviceClient({ name: "billing" })\nawait billing.settle(input)',
  'const waiting = ctx.promise("cancelled")\nconst bounded = waiting.get().orTimeout(5)\nawait bounded.map(String)',
  'await RestatePromise.race([ctx.sleep(1), ctx.promise("x").get()])',
  'await restate.RestatePromise.all([ctx.sleep(1)])',
  'await settle(ctx, input)',
  'const later = () => ctx.run("later", () => Math.random())\nawait ctx.run("now", () => later())',
]

describe('kinora/journaled', async () => {
  const files = Object.fromEntries([
    ...broken.map(([statements], index) => [
      `gateway/src/videos/broken-${index}.workflow.ts`,
      handler(statements),
    ]),
    ...correct.map((statements, index) => [
      `gateway/src/videos/correct-${index}.workflow.ts`,
      handler(statements),
    ]),
    ['gateway/src/videos/plain.ts', handler('return Date.now()')],
    ['gateway/src/videos/outside-handler.workflow.ts', 'export const stamp = () => Date.now()'],
    [
      'gateway/src/videos/method.workflow.ts',
      'export const task = { async run(ctx: any) { return Math.random() } }',
    ],
    ['gateway/src/videos/named.workflow.ts', 'export async function run(ctx: any) { return Math.random() }'],
  ])
  const found = await lintFixture(files)
  const reportsFor = (file: string) =>
    (found.get(`gateway/src/videos/${file}.ts`) ?? []).filter((line) => line.startsWith('kinora(journaled)'))

  it.each(broken.map((row, index) => [...row, index] as const))(
    'reports %s',
    (_statements, message, index) => {
      expect(reportsFor(`broken-${index}.workflow`).join('\n')).toContain(message)
    },
  )

  it.each(correct.map((row, index) => [row, index] as const))('accepts %s', (_statements, index) => {
    expect(reportsFor(`correct-${index}.workflow`)).toEqual([])
  })

  it('checks methods and named functions that take the context', () => {
    expect(reportsFor('method.workflow')).toHaveLength(1)
    expect(reportsFor('named.workflow')).toHaveLength(1)
  })

  it('ignores other files, and functions without the context', () => {
    expect(reportsFor('plain')).toEqual([])
    expect(reportsFor('outside-handler.workflow')).toEqual([])
  })
})

function handler(statements: string): string {
  return `export const run = async (ctx: any, input: any, store: any) => {\n${statements}\n}\n`
}
