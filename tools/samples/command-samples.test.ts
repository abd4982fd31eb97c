/** The commands in the API reference are those of the command line: its parser reads from them what was recorded. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

import { commands } from '../../cli/src/commands/all-commands.ts'
import { parseWords } from '../../cli/src/frame/parse.ts'
import { findCommand } from '../../cli/src/frame/run-command.ts'
import { adminOperations } from '../../contract/src/admin-operations.ts'
import { examples } from '../../contract/src/examples.ts'
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
    const input = Object.values(parseWords(command, rest)).map(String)
    return { words: command.words, input }
  })
  const expected = samples.map(({ call, example: { request } }) => {
    const body = request.body as Record<string, string | number> | undefined
    const given: Record<string, string | number> = { ...request.parameters, ...body }
    const names = [...(call.arguments ?? []), ...Object.keys(call.options ?? {})]
    const values = names.flatMap((name) => (given[name] === undefined ? [] : [given[name]]))
    return {
      words: call.words,
      input: expect.arrayContaining([
        ...values.map((value) => fileIn(value) ?? String(value)),
        ...(call.output === undefined ? [] : [call.output]),
      ]) as string[],
    }
  })
  expect(read).toEqual(expected)
})

test('every argument that a command needs has a value', () => {
  expect(
    samples.flatMap(({ id, call, example: { request } }) => {
      const given = { ...request.parameters, ...(request.body as object | undefined) }
      return (call.arguments ?? []).filter((name) => !(name in given)).map((name) => `${id}: ${name}`)
    }),
  ).toEqual([])
})
