/**
 * The steps of workflows are part of what is stored: the engine continues a run with the code of the next version, by
 * comparing its commands with those in the journal of the run. Every change of them must be deliberate.
 */
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { ask, askJson } from '../kit/answers.ts'
import { audioForm, wave } from '../kit/sound.ts'
import {
  commonOrder,
  countUnderWay,
  journalMismatch,
  keepJournals,
  readJournals,
  startLoops,
  withoutRepeats,
  type Journal,
} from './journal.ts'
import { startUpgradeStack, type Customer, type UpgradeStack } from './upgrade-stack.ts'

interface Steps {
  /** What the engine can call. */
  services: string[]
  /** The commands of the runs of a task, by what happens to it. */
  runs: Record<string, string[][]>
  /** The commands of a loop, in their order. A tick gives only those that it needs. */
  ticks: Record<string, string[]>
}

const file = new URL('workflow-steps.json', import.meta.url)
const recorded = JSON.parse(await readFile(file, 'utf8')) as Steps
const whatToDo =
  'The steps of a workflow have changed. Runs that are in flight during an upgrade would fail with a journal mismatch. ' +
  'Read docs/change-a-workflow.md. If the change is safe, record it with `npm run record:steps`'

const video = (prompt: string, more: object = {}) =>
  ['/v1/videos', { model: 'vidB-2', prompt, seconds: 4, size: '480x480', ...more }] as const
const videoOfFamilyA = (prompt: string, more: object) =>
  ['/v1/video/create', { model: 'vidA3', prompt, ...more }] as const

const videos = {
  'a video is completed': video('A whale'),
  'a video with an enhanced prompt': videoOfFamilyA('A whale', { enhance_prompt: true }),
  'a job fails': video('A whale vendor:fail=server_error'),
  'a job is rejected': video('A whale vendor:reject'),
  'a busy provider': video('A whale vendor:busy=1'),
}
/** After the others: while a provider's downloads fail, its other downloads wait. */
const lastVideos = { 'a download that is tried again': video('A whale vendor:cut-media=1') }
const transcriptions = {
  'a recording is transcribed': {},
  'a recording is rejected': { prompt: 'vendor:reject' },
}

let stack: UpgradeStack
let customer: Customer
let services: string[]
const copies: string[] = []

/** Runs that have ended are forgotten at once, and their journals with them. */
const remembering = { 'workflowRetention = { seconds: 0 }': 'workflowRetention = { hours: 1 }' }

/** A copy of the command in which these texts are replaced. */
const changedCommand = async (name: string, texts: Record<string, string>): Promise<string> => {
  const bundle = dirname(inject('command'))
  const copy = `${bundle}-${name}`
  copies.push(copy)
  await cp(bundle, copy, { recursive: true })
  const missing = new Set(Object.keys(texts))
  for (const file of await readdir(copy, { recursive: true })) {
    if (!file.endsWith('.js')) continue
    const text = await readFile(join(copy, file), 'utf8')
    const found = Object.entries(texts).filter(([before]) => text.includes(before))
    for (const [before] of found) missing.delete(before)
    const changed = found.reduce((whole, [before, after]) => whole.replaceAll(before, after), text)
    if (found.length > 0) await writeFile(join(copy, file), changed)
  }
  expect([...missing]).toEqual([])
  return join(copy, 'kinora.js')
}

beforeAll(async () => {
  stack = await startUpgradeStack()
  await stack.runCommand(inject('command'), 'migrate')
  const remember = await changedCommand('remembering', remembering)
  await Promise.all([stack.apis[0].start(), stack.workers[0].startVersion(remember)])
  customer = await stack.createCustomer(inject('command'))
  services = await keepJournals(stack.adminUrl)
  await startLoops(stack.ingressUrl, stack.adminUrl)
})
afterAll(async () => {
  await stack[Symbol.asyncDispose]()
  await Promise.all(copies.map((copy) => rm(copy, { recursive: true })))
})

const idOf = ({ status, body }: { status: number; body: Record<string, unknown> }) => {
  expect(status).toBe(200)
  return String(body['id'])
}
const createVideo = async ([path, body]: readonly [string, object]) =>
  idOf(await askJson(`${customer.origins[0]}${path}`, customer.key, body))
const createTranscription = async (fields: Record<string, string>) =>
  idOf(
    await ask(`${customer.origins[0]}/v1/audio/transcription-tasks`, customer.key, {
      method: 'POST',
      body: audioForm(wave(5), { model: 'asr-1', ...fields }),
    }),
  )

const openTasks = async () => {
  const { rows } = await stack.database.postgres.query<{ count: number }>(
    `select (select count(*) from open_tasks) + (select count(*) from open_transcriptions) as count`,
  )
  return rows[0]?.count
}

/** Waits until all tasks have ended, and returns the journals of everything. */
const endedJournals = async (): Promise<Journal[]> => {
  await expect.poll(openTasks).toBe(0)
  await expect.poll(() => countUnderWay(stack.adminUrl)).toBe(0)
  const journals = await readJournals(stack.adminUrl)
  return journals.map((journal) => ({ ...journal, commands: withoutRepeats(journal.commands) }))
}

/** The different commands of the runs of a task, the shortest first. */
const runsOf = (journals: Journal[], taskId: string): string[][] => {
  const ofTask = journals.filter(({ key }) => key.startsWith(`${taskId}~`)).map(({ commands }) => commands)
  const different = new Map(ofTask.map((commands) => [commands.join(), commands]))
  return [...different.values()].toSorted((one, other) => one.length - other.length)
}

test('the steps of every workflow are those that were recorded', async () => {
  const idsOf = async <Given>(given: Record<string, Given>, create: (each: Given) => Promise<string>) =>
    Promise.all(Object.entries(given).map(async ([name, each]) => [name, await create(each)] as const))
  const created = [
    ...(await idsOf(videos, createVideo)),
    ...(await idsOf<Record<string, string>>(transcriptions, createTranscription)),
  ]
  await expect.poll(openTasks).toBe(0)
  created.push(...(await idsOf(lastVideos, createVideo)))
  const journals = await endedJournals()
  const loops = services.flatMap((each) => (each.endsWith('/tick') ? each.slice(0, -'/tick'.length) : []))
  const found: Steps = {
    services,
    runs: Object.fromEntries(created.map(([name, id]) => [name, runsOf(journals, id)])),
    ticks: Object.fromEntries(
      loops.map((loop) => [
        loop,
        commonOrder(journals.flatMap(({ service, commands }) => (service === loop ? [commands] : []))),
      ]),
    ),
  }
  if (process.env['RECORD_STEPS'] !== undefined) await writeFile(file, `${JSON.stringify(found, null, 2)}\n`)
  else expect(found, whatToDo).toEqual(recorded)
})

/** Replaces the worker by one in which a step has another name. A worker that is killed does not end its steps. */
const renameStep = async (before: string, after: string, end: 'stop' | 'kill') => {
  await stack.workers[0][end]()
  await stack.workers[0].startVersion(
    await changedCommand(after, { [`ctx.run("${before}"`]: `ctx.run("${after}"`, ...remembering }),
  )
}

test('a run in flight does not continue with a step that is renamed, but its task is not lost', async () => {
  const before = stack.vendor.transcriptions().length
  const id = await createTranscription({ prompt: 'vendor:slow=5000' })
  await expect.poll(() => stack.vendor.transcriptions().length).toBe(before + 1)
  await renameStep('plan', 'divide', 'kill')
  await expect.poll(stack.readLogs).toMatch(journalMismatch)
  await stack.workers[0].stop()
  await stack.workers[0].start()
  await expect.poll(openTasks).toBe(0)
  const { body } = await ask(`${customer.origins[0]}/v1/audio/transcription-tasks/${id}`, customer.key)
  expect(body).toMatchObject({ status: 'completed' })
})

test('a step that is renamed is noticed', async () => {
  await renameStep('transcribe', 'listen', 'stop')
  await keepJournals(stack.adminUrl)
  const id = await createTranscription(transcriptions['a recording is transcribed'])
  const [commands] = runsOf(await endedJournals(), id)
  expect(commands).toContain('Run listen')
  expect([commands]).not.toEqual(recorded.runs['a recording is transcribed'])
})

describe('journals are compared', () => {
  test('without the repetitions of loops', () => {
    const oneLetterEach = (text: string) => withoutRepeats([...text]).join('')
    expect(oneLetterEach('abbbcd')).toBe('abcd')
    expect(oneLetterEach('abcd')).toBe('abcd')
    expect(oneLetterEach('abcbcd')).toBe('abcbcd')
    expect(oneLetterEach('abcbcbcbcbcd')).toBe('abcbcd')
  })

  test('by one order of the commands that ticks give', () => {
    const lists = [
      ['get', 'run', 'set'],
      ['get', 'run', 'send', 'set'],
      ['get', 'run', 'set', 'schedule'],
    ]
    expect(commonOrder(lists)).toEqual(['get', 'run', 'send', 'set', 'schedule'])
    expect(() => commonOrder([...lists, ['get', 'set', 'run']])).toThrow('no common order')
  })
})
