import type { Operation } from '@kinora/contract/operation'
import { operations } from '@kinora/contract/operations'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, expectProblem, pixel, pixelUri } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { recordOf, startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway()
  key = await createKey(gateway.database.postgres, await createAccount(gateway.database.postgres))
})
afterAll(() => gateway[Symbol.asyncDispose]())

const formsOf = ({ body }: Operation) =>
  (body?.form ?? []) as { properties: Record<string, { format?: string }> }[]

/** Every field of every form, and whether it is a file. `input_reference` is the model's to judge, and has its own test. */
const fields = (Object.values(operations) as Operation[]).flatMap(({ method, path, ...operation }) => {
  const properties = Object.assign(
    {},
    ...formsOf({ method, path, ...operation }).map((form) => form.properties),
  ) as Record<string, { format?: string }>
  return Object.entries(properties)
    .filter(([name]) => name !== 'input_reference' && !name.endsWith('[]'))
    .map(([name, { format }]) => [`${method} ${path}`, name, { path, isFile: format === 'binary' }] as const)
})

const send = async (path: string, parts: [string, string | Blob][]) => {
  const body = new FormData()
  for (const [name, value] of parts) {
    if (typeof value === 'string') body.append(name, value)
    else body.append(name, value, 'file.bin')
  }
  return ask(`${gateway.url}${path.replace('{id}', 'vidB-2:1-a')}`, key.text, { method: 'POST', body })
}

const expectRefused = async (path: string, parts: [string, string | Blob][], param: string) => {
  const before = await recordOf(gateway)
  const answer = await send(path, parts)
  expectProblem(answer, 'invalid_parameter', param)
  expect(answer.body['error']).toHaveProperty('message', expect.stringContaining('given more than once'))
  expect(await recordOf(gateway)).toEqual(before)
}

describe('a single field is refused when it is sent twice', () => {
  test.each(fields)('%s: %s', async (_, name, { path, isFile }) => {
    const value = isFile ? pixel : 'x'
    await expectRefused(
      path,
      [
        [name, value],
        [name, value],
      ],
      name,
    )
  })

  test('all operations that accept a form are covered', () => {
    expect(new Set(fields.map(([operation]) => operation))).toEqual(
      new Set([
        'POST /v1/videos',
        'POST /v1/videos/{id}/remix',
        'POST /v1/videos/edits',
        'POST /v1/audio/transcriptions',
        'POST /v1/audio/translations',
        'POST /v1/audio/transcription-tasks',
      ]),
    )
  })

  test.each<[string, [string, string | Blob][], string]>([
    [
      'a file and a text',
      [
        ['file', pixel],
        ['file', 'x'],
      ],
      'file',
    ],
    [
      'a member of an object',
      [
        ['character_create[save_to_library]', 'true'],
        ['character_create[save_to_library]', 'false'],
      ],
      'character_create',
    ],
    [
      'an object and a member of it',
      [
        ['character_create', '{}'],
        ['character_create[save_to_library]', 'true'],
      ],
      'character_create',
    ],
  ])('%s', async (_, parts, param) => {
    await expectRefused(param === 'file' ? '/v1/audio/transcriptions' : '/v1/videos', parts, param)
  })
})

describe('not a repetition', () => {
  const order: [string, string][] = [
    ['model', 'vidB-2'],
    ['prompt', 'A whale'],
    ['seconds', '4'],
    ['size', '480x480'],
  ]

  test.each<[string, [string, string | Blob][]]>([
    ['an empty field beside the one that counts', [['seconds', ''], ...order, ['prompt', '  ']]],
    [
      'two members of an object',
      [
        ...order,
        ['character_create[save_to_library]', 'false'],
        ['character_create[create_self_portrait]', 'false'],
      ],
    ],
    ['a field that nobody knows', [...order, ['mood', 'calm'], ['mood', 'wild']]],
    [
      'several images for family B',
      [...order, ['input_reference', pixelUri], ['input_reference', 'not an image']],
    ],
  ])('%s', async (_, parts) => {
    const answer = await send('/v1/videos', parts)
    expect(answer.body).toMatchObject({ object: 'video', seconds: 4 })
  })

  test.each<[string, [string, string | Blob][]]>([
    [
      'two texts',
      [
        ['input_reference', pixelUri],
        ['input_reference', pixelUri],
      ],
    ],
    [
      'a file and a text',
      [
        ['input_reference', pixel],
        ['input_reference', pixelUri],
      ],
    ],
    [
      'two files',
      [
        ['input_reference', pixel],
        ['input_reference', pixel],
      ],
    ],
  ])('family A accepts one image: %s', async (_, images) => {
    const ofA: [string, string][] = [
      ['model', 'vidA_3_1'],
      ['prompt', 'A'],
      ['seconds', '5'],
      ['size', '16x9'],
    ]
    await expectRefused('/v1/videos', [...ofA, ...images], 'input_reference')
  })
})
