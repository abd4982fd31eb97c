/** The commands in the API reference are those of the command line: its parser reads from them what was recorded. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

import { commands } from '../../cli/src/commands/all-commands.ts'
import { parseWords } from '../../cli/src/frame/parse.ts'
import { findCommand } from '../../cli/src/frame/run-command.ts'
import { readAmount } from '../../cli/src/operator/read-amount.ts'
import { readSettings } from '../../cli/src/operator/read-settings.ts'
import { formatMoney } from '../../cli/src/terminal/format.ts'
import { adminOperations } from '../../contract/src/admin-operations.ts'
import { examples, type Example } from '../../contract/src/examples.ts'
import type { Operation } from '../../contract/src/operation.ts'
import { operations } from '../../contract/src/operations.ts'
import { commandCalls, type CommandCall } from '../../contract/src/samples/command-calls.ts'
import { fileIn } from '../../contract/src/samples/sample-files.ts'
import { codeSamplesOf } from '../../contract/src/samples/samples.ts'

const all: Record<string, Operation> = { ...operations, ...adminOperations }

const samples = Object.entries<CommandCall>(commandCalls).map(([id, call]) => {
  const operation = all[id]
  const example = examples[id]
  if (operation === undefined || example === undefined) throw new Error(`${id} has no recorded example`)
  const source = codeSamplesOf(operation, example).find(({ source }) => source.startsWith('kinora '))?.source
  return { id, call, example, source: source ?? '' }
})

const valuesOf = ({ settings: field = '' }: CommandCall, { request }: Example) => {
  const body = (request.body ?? {}) as Record<string, unknown>
  const settings = (body[field] ?? {}) as Record<string, unknown>
  const given: Record<string, unknown> = { ...request.parameters, ...body, ...settings }
  return { given, settings }
}

/** What the command reads. */
const textOf = (name: string, value: unknown): string => {
  if (!name.endsWith('_micros')) return fileIn(value) ?? String(value)
  const amount = formatMoney(Number(value), '').replaceAll(/[, ]/g, '')
  expect(readAmount(name, amount)).toBe(value)
  return amount
}

/** What a shell makes of each sample. */
const readWords = async (): Promise<string[][]> => {
  const script = [
    'kinora() { printf "%s\\0" "$@"; printf "\\1\\0"; }',
    ...samples.map(({ source }) => source),
  ]
  const { stdout } = await promisify(execFile)('sh', ['-ec', script.join('\n')])
  return stdout
    .split('\u0001\0')
    .slice(0, -1)
    .map((line) => line.split('\0').slice(0, -1))
}

test('the parser reads the recorded request from the sample of each command', async () => {
  const read = (await readWords()).map((words) => {
    const found = findCommand(commands, words)
    if (found === undefined) throw new Error(`There is no command ${words.join(' ')}`)
    const { command, rest } = found
    const values: Record<string, unknown> = { ...(parseWords(command, rest) as object) }
    const settings = Array.isArray(values['set']) ? readSettings(values['set'] as string[]) : {}
    return { words: command.words, input: Object.values(values).map(String), settings }
  })
  const expected = samples.map(({ call, example }) => {
    const { given, settings } = valuesOf(call, example)
    const names = [...(call.arguments ?? []), ...Object.keys(call.options ?? {})]
    const named = names.flatMap((name) => (given[name] === undefined ? [] : [textOf(name, given[name])]))
    const others = Object.entries(settings).filter(([name]) => !names.includes(name))
    return {
      words: call.words,
      input: expect.arrayContaining([
        ...named,
        ...(call.output === undefined ? [] : [call.output]),
      ]) as string[],
      settings: Object.fromEntries(others),
    }
  })
  expect(read).toEqual(expected)
})

test('secrets are not in the samples', () => {
  const written = samples.flatMap(({ call, example, source }) => {
    const { given } = valuesOf(call, example)
    return Object.keys(call.secretFiles ?? {}).map((name) => source.includes(String(given[name])))
  })
  expect(written).not.toEqual([])
  expect(written).not.toContain(true)
})

test('every argument that a command needs has a value', () => {
  expect(
    samples.flatMap(({ id, call, example }) => {
      const { given } = valuesOf(call, example)
      return (call.arguments ?? []).filter((name) => !(name in given)).map((name) => `${id}: ${name}`)
    }),
  ).toEqual([])
})
