/**
 * An attack by one caller stays within the limits. `npm run prove:attacks`, also in its quick form, shows as well that the same
 * attack goes beyond them without admission control.
 */
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, test, type TaskMeta } from 'vitest'

import { runWith } from '../faults/mutation.ts'
import { makeFixtures, type AttackFixtures, type Launch } from './attacked-api.ts'
import { attacks, type AttackName } from './attacks.ts'
import { startSystemLookups } from './name-services.ts'
import { lengths, runAttack, type AttackResult } from './run-attack.ts'

const form = process.env['PROVE_ATTACKS']
const isFull = form === 'full'
const length = isFull ? lengths.full : lengths.quick
// Those in which a caller hinders other customers with few requests. `npm run prove:attacks` runs the others as well.
const inCi: AttackName[] = ['unpaid-decoding', 'held-uploads', 'hogged-speech', 'slow-names']
// Overload needs cores of its own: other load on the machine looks the same. So it runs at full length, or if named.
const names = (Object.keys(attacks) as AttackName[]).filter((name) =>
  form === undefined
    ? inCi.includes(name)
    : name !== 'overload' || isFull || process.env['PROVE_ATTACKS_NAMED'] === name,
)
/** The baseline may be inexact, because the expected difference is large. A busy machine needs longer to reach it. */
const controlLength = { ...length, beforeMs: Math.min(length.beforeMs, 1_000), duringMs: 60_000 }
const command = fileURLToPath(new URL('../../../cli/src/kinora.ts', import.meta.url))
let fixtures: AttackFixtures

beforeAll(async () => {
  fixtures = await makeFixtures()
})
afterAll(() => fixtures[Symbol.asyncDispose]())

const report = (meta: TaskMeta, name: string, { line, answers, ownDelayMs }: AttackResult) => {
  meta.attack = { line: `${name.padEnd(12)}  ${line}`, answers, ownDelayMs }
  console.log(meta.attack.line)
}

/** Other load on the machine can only make a result worse, so in quick mode the best of three counts. */
const triesMax = length === lengths.quick ? 3 : 1

/** Only in the proof. */
const describeControl = (title: string, define: () => void) => {
  if (form !== undefined) describe(title, define)
}

describe('with default settings', () => {
  test.for(names)('%s stays within the limits', async (name, { task }) => {
    let result = await runAttack(fixtures, name, { length })
    report(task.meta, name, result)
    for (let tries = 1; tries < triesMax && result.problems.length > 0; tries += 1) {
      result = await runAttack(fixtures, name, { length })
      report(task.meta, name, result)
    }
    expect(result.problems).toEqual([])
  })
})

/** The probes that these attacks are aimed at. */
const aims: Partial<Record<AttackName, string>> = {
  'unpaid-decoding': 'transcription',
  'hogged-speech': 'speech',
}

describeControl('without admission control', () => {
  // Without admission control, uploads are not limited at all.
  test.for(names.filter((name) => name !== 'held-uploads'))(
    '%s goes beyond the limits',
    async (name, { task }) => {
      const environment = { ADMISSION_CONTROL: 'false' }
      const shownBy = aims[name]
      const result = await runAttack(fixtures, name, {
        ...{ length: controlLength, environment, stopsEarly: true, shownBy },
      })
      report(task.meta, name, result)
      if (shownBy === undefined) expect(result.problems).not.toEqual([])
      else expect(result.problems).toContain(shownBy)
    },
  )
})

describeControl('if no upload gives way to another account', () => {
  test.for(names.filter((name) => name === 'held-uploads'))('%s keeps others out', async (name, { task }) => {
    const { execArguments, environment } = runWith({
      file: 'admission/admission.ts',
      find: "if (findExceeded('uploads', 1) === 'total') arriving.makeRoomFor(owner)",
      replace: '',
    })
    const launch: Launch = { line: [process.execPath, ...execArguments, command], environment }
    const result = await runAttack(fixtures, name, {
      ...{ length: controlLength, launch, stopsEarly: true, shownBy: 'upload' },
    })
    report(task.meta, name, result)
    expect(result.problems).toContain('upload')
  })
})

describeControl('without admission control, with names looked up by the system', () => {
  test.for(names.filter((name) => name === 'slow-names'))(
    '%s stops calls to vendors',
    async (name, { task, skip }) => {
      await using lookups = await startSystemLookups(fixtures.directory)
      if (lookups === undefined) return skip('needs the right to open port 53 and to create namespaces')
      const environment = { ADMISSION_CONTROL: 'false' }
      const result = await runAttack(fixtures, name, {
        ...{ length: controlLength, environment, launch: lookups, stopsEarly: true, shownBy: 'vendor call' },
      })
      report(task.meta, name, result)
      expect(result.problems).toContain('vendor call')
    },
  )
})
