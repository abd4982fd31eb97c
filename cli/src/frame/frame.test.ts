import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { adminOperations } from '@kinora/contract/admin-operations'
import { errors } from '@kinora/contract/errors'
import { operations } from '@kinora/contract/operations'
import { taskErrors } from '@kinora/contract/task-errors'
import { describe, expect, test } from 'vitest'

import { commands, nouns } from '../commands/all-commands.ts'
import { defineCommand, nameOption } from './command.ts'
import { completionScript } from './completion.ts'
import { exitCodeOf, exitCodes } from './exit-code.ts'
import { helpOfAll, helpOfCommand, firstWord, helpOfNoun } from './help.ts'
import { parseWords } from './parse.ts'
import { describeError, runWords } from './run-command.ts'

const run = promisify(execFile)
const line = { version: '1.2.3', commands, nouns }

const sample = defineCommand({
  words: 'sample run',
  group: 'Make',
  summary: 'A sample.',
  arguments: {
    first: { summary: 'the first' },
    rest: { summary: 'the rest', isList: true, isOptional: true },
  },
  options: {
    port: { type: 'number', min: 1, max: 10, default: '4', summary: 'a port' },
    speed: { type: 'number', isDecimal: true, summary: 'a speed' },
    kind: { type: 'text', short: 'k', choices: ['red', 'green'], summary: 'a kind' },
    dryRun: { type: 'flag', summary: 'change nothing' },
    image: { type: 'list', short: 'i', summary: 'an image' },
  },
  example: 'kinora sample run x',
  run: async () => undefined,
})

describe('the words after a command', () => {
  test('become values', () => {
    const words = [
      'one',
      '--speed',
      '0.5',
      '-k',
      'red',
      'two',
      '--dry-run',
      '-i',
      'a.png',
      '--image=b.png',
      '-',
    ]
    expect(parseWords(sample, words)).toEqual({
      ...{ first: 'one', rest: ['two', '-'], port: 4, speed: 0.5, kind: 'red', dryRun: true },
      image: ['a.png', 'b.png'],
    })
    expect(parseWords(sample, ['one', '--', '--port'])).toMatchObject({ rest: ['--port'], dryRun: false })
    expect(parseWords(sample, ['-h'])).toBe('help')
  })

  test.for([
    [[], '<first> is missing: the first.'],
    [[' '], '<first> must not be empty.'],
    [['x', '--prot', '3'], 'There is no option --prot. Did you mean --port?'],
    [['x', '--zebra'], 'There is no option --zebra.'],
    [['x', '--port'], '--port needs a value.'],
    [['x', '--port', '--dry-run'], '--port needs a value.'],
    [['x', '--port', '0'], '--port must be a number between 1 and 10, got "0".'],
    [['x', '--port', '1.5'], '--port must be a number between 1 and 10, got "1.5".'],
    [['x', '--kind', 'gren'], '--kind must be one of red, green, got "gren". Did you mean green?'],
    [['x', '--dry-run=yes'], '--dry-run takes no value.'],
  ] as const)('%j are wrong', ([words, message]) => {
    expect(() => parseWords(sample, [...words])).toThrow(expect.objectContaining({ message }))
  })

  test('are not one argument too many without a hint at quotes', () => {
    const logout = commands.find(({ words }) => words === 'video get')
    expect(() => parseWords(logout ?? sample, ['id', 'and', 'more'])).toThrow(
      /too many: "and". Put .* quotes/,
    )
  })
})

describe('every command', () => {
  test.for(commands.map((command) => [command.words, command] as const))('%s', ([words, command]) => {
    const help = helpOfCommand(command)
    const long = help.split('\n').filter((text) => text.length > 80 && !text.startsWith('  kinora '))
    expect(long).toEqual([])
    // The example is a command line that this command accepts.
    expect(command.example).toMatch(new RegExp(`^kinora ${words}( |$)`))
    const rest = command.example.slice(`kinora ${words}`.length)
    const given = [...rest.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
    expect(parseWords(command, given)).not.toBe('help')
    // What --json prints is an operation or is described.
    expect('json' in command.options).toBe(command.prints !== undefined)
    const { prints = 'a b' } = command
    const isOperation = Object.hasOwn(operations, prints) || Object.hasOwn(adminOperations, prints)
    expect(isOperation || prints.includes(' ')).toBe(true)
  })

  test('is in the help, which fits 80 columns', () => {
    const help = helpOfAll(line)
    expect(help.split('\n').filter((text) => text.length > 80)).toEqual([])
    for (const command of commands) {
      expect(help).toContain(firstWord(command))
      expect(helpOfNoun(line, firstWord(command))).toContain(command.words.split(' ').at(-1))
    }
  })
})

describe('an unknown command', () => {
  test.for([
    ['vidoe', 'There is no command kinora vidoe. Did you mean kinora video?'],
    ['video crate', 'There is no command kinora video crate. Did you mean kinora video create?'],
    ['xyzzy', 'There is no command kinora xyzzy.'],
  ])('%s', async ([words = '', message = '']) => {
    const error: unknown = await runWords(line, words.split(' ')).catch((reason: unknown) => reason)
    expect(describeError(error)).toEqual({
      text: expect.stringContaining(message),
      exitCode: exitCodes.usage,
    })
  })
})

describe('exit codes', () => {
  test('tell who has to do something', () => {
    const codes = Object.fromEntries(
      Object.entries(errors).map(([code, { type }]) => [code, exitCodeOf({ code, type })]),
    )
    expect(codes).toMatchObject({
      ...{ invalid_api_key: 3, insufficient_scope: 3, insufficient_balance: 4, rate_limit_exceeded: 4 },
      ...{ upstream_error: 5, service_unavailable: 5, invalid_parameter: 2, model_not_found: 2 },
      ...{ task_not_found: 1, content_policy_violation: 1, conflict: 1 },
    })
    expect(Object.values(codes).every((code) => code >= 1 && code <= 5)).toBe(true)
  })

  test.for([
    [{ code: 'insufficient_balance', type: 'billing_error', status: 402 }, 4],
    [{ code: 'connection_failed' }, 5],
    [{ code: 'upstream_error' satisfies keyof typeof taskErrors, taskId: 'vidB-2:1' }, 5],
    [{ code: 'content_policy_violation' satisfies keyof typeof taskErrors, taskId: 'vidB-2:1' }, 1],
    [{ code: 'a_new_code', type: 'a_new_type', status: 418 }, 1],
  ] as const)('of an error of the service: %j', ([parts, exitCode]) => {
    const error = Object.assign(new Error('It failed.'), { name: 'KinoraError', ...parts })
    expect(describeError(error).exitCode).toBe(exitCode)
  })

  test('come with message, hint and request id', () => {
    const error = Object.assign(new Error('The balance is too low.'), {
      ...{ name: 'KinoraError', code: 'insufficient_balance', type: 'billing_error', status: 402 },
      ...{ hint: 'Top up the account.', requestId: 'req_1' },
    })
    expect(describeError(error).text).toBe('The balance is too low.\nTop up the account.\nRequest req_1')
  })
})

describe('completion', () => {
  const complete = async (...words: string[]): Promise<string[]> => {
    const script = `${completionScript('bash', line)}
COMP_WORDS=(kinora "$@"); COMP_CWORD=$#; _kinora; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout } = await run('bash', ['-c', script, 'bash', ...words])
    return stdout.trim().split('\n')
  }

  test('in bash offers commands, their options and the choices of those', async () => {
    expect(await complete('vid')).toEqual(['video'])
    expect(await complete('video', '')).toContain('create')
    expect(await complete('video', 'create', 'a prompt', '--no')).toEqual(['--no-open', '--no-wait'])
    expect(await complete('transcribe', 'a.mp3', '--format', 's')).toEqual(['srt'])
    expect(await complete('completion', 'z')).toEqual(['zsh'])
  })

  test('in fish has every option', () => {
    const script = completionScript('fish', line)
    for (const { options } of commands) {
      for (const name of Object.keys(options)) expect(script).toContain(` -l ${nameOption(name).slice(2)} `)
    }
  })
})
