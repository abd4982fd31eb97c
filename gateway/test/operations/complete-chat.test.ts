import { createHash } from 'node:crypto'

import { errors } from '@kinora/contract/errors'
import type { TaskErrorCode } from '@kinora/contract/task-errors'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import {
  ask,
  askJson,
  errorBodyOf,
  expectProblem,
  pixelBytes,
  pixelUri,
  type Answer,
} from '../kit/answers.ts'
import { allEventsIn, dataOf, eventsIn, nextOf, type ReadEvent } from '../kit/event-reader.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { recordOf, startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { startTaskLife, type TaskLife } from '../kit/task-life.ts'

let gateway: TestGateway
let life: TaskLife

beforeAll(async () => {
  gateway = await startGateway({ PUBLIC_URL: 'https://videos.example' })
  life = startTaskLife(gateway)
})
afterAll(async () => {
  life.close()
  await gateway[Symbol.asyncDispose]()
})

interface Customer {
  accountId: string
  text: string
}

/** A separate account for each test, so that the test finds its task by account. */
const customer = async ({
  balance = 1000,
  ...traits
}: { balance?: number; models?: string[] } = {}): Promise<Customer> => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres, { balance })
  return { accountId, text: (await createKey(postgres, accountId, traits)).text }
}

const bodyOf = (content: unknown, more: object = {}) => ({
  model: 'vidB-2',
  messages: [{ role: 'user', content }],
  ...more,
})

const complete = (
  { text }: Customer,
  body: unknown,
  headers: Record<string, string> = {},
  url = gateway.url,
): Promise<Answer> => askJson(`${url}/v1/chat/completions`, text, body, headers)

const stream = (
  { text }: Customer,
  body: object,
  options: { headers?: Record<string, string>; signal?: AbortSignal; url?: string; path?: string } = {},
) =>
  fetch(`${options.url ?? gateway.url}${options.path ?? '/v1'}/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${text}`,
      'content-type': 'application/json',
      ...options.headers,
    },
    body: JSON.stringify({ stream: true, ...body }),
    ...(options.signal !== undefined && { signal: options.signal }),
  })

interface TaskRow extends Record<string, unknown> {
  id: string
  createdVia: string
  state: string
  order: Record<string, unknown>
}

const tasksOf = async ({ accountId }: Customer): Promise<TaskRow[]> => {
  const { rows } = await gateway.database.postgres.query<TaskRow>(
    'select id, created_via as "createdVia", state, video_order as "order" from video_tasks where account_id = $1',
    [accountId],
  )
  return rows
}

/** Waits for the only task of a customer. */
const taskOf = async (who: Customer): Promise<TaskRow> => {
  await expect.poll(async () => (await tasksOf(who)).length, { interval: 20 }).toBe(1)
  return (await tasksOf(who))[0] as TaskRow
}

const contentOf = (event: ReadEvent): string =>
  (dataOf(event) as { choices: { delta: { content: string } }[] }).choices[0]?.delta.content ?? ''

/** The first bytes of a PNG of that size. */
const pngOf = (width: number, height: number): string => {
  const bytes = Buffer.from(pixelBytes)
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return `data:image/png;base64,${bytes.toString('base64')}`
}

describe('200, streamed', () => {
  test('the stream consists of lines: each event ends with an empty one, also the last', async () => {
    const who = await customer()
    const response = await stream(who, bodyOf('A whale'))
    const { id } = await taskOf(who)
    await life.begin(id)
    await life.complete(id, who.accountId)
    const text = await response.text()
    const blocks = text.split('\n\n')
    // What follows the last empty line is nothing.
    expect(blocks.pop()).toBe('')
    expect(blocks.at(-1)).toBe('data: [DONE]')
    for (const block of blocks) expect(block).toMatch(/^(id: \d+\n)?data: [^\n]+$/)
    expect(blocks.slice(0, -1).map((block) => /"content":"(\w+): /.exec(block)?.[1])).toEqual([
      ...['task_id', 'progress', 'progress', 'video_url'],
    ])
  })

  test('the id, growing progress and the link, each in its own chunk', async () => {
    const who = await customer()
    const response = await stream(who, bodyOf('A whale'))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('x-request-id')).toMatch(/^req_/)
    expect(response.headers.get('x-ratelimit-limit')).toBe('100000')
    const events = eventsIn(response.body)
    const { id } = await taskOf(who)
    const received = [await nextOf(events)]
    expect(contentOf(received[0] as ReadEvent)).toBe(`task_id: ${id}\n`)
    for (const percent of [7, 7, 30, 20, 99]) await life.progress(id, percent)
    await life.begin(id)
    const mediaId = await life.complete(id, who.accountId)
    for await (const event of events) received.push(event)
    expect(received.pop()).toEqual({ data: '[DONE]' })
    expect(received.slice(0, -1).map(contentOf)).toEqual([
      `task_id: ${id}\n`,
      'progress: 7%\n',
      'progress: 30%\n',
      'progress: 99%\n',
      'progress: 100%\n',
    ])
    const link = contentOf(received.at(-1) as ReadEvent)
    expect(link).toMatch(
      new RegExp(`^video_url: https://videos\\.example/media/${mediaId}/video\\.mp4\\?\\S+\\n$`),
    )
    for (const [index, event] of received.entries()) {
      const isLast = index === received.length - 1
      expect(dataOf(event)).toEqual({
        id: `chatcmpl-${id}`,
        object: 'chat.completion.chunk',
        created: expect.closeTo(Date.now() / 1000, -2),
        model: 'vidB-2',
        choices: [
          {
            index: 0,
            delta: { ...(index === 0 && { role: 'assistant' }), content: expect.any(String) },
            finish_reason: isLast ? 'stop' : null,
          },
        ],
      })
      expect(event.event).toBeUndefined()
    }
  })

  test.each([
    ['/openai/v1', {}],
    ['/v1', { 'x-api-dialect': 'openai' }],
    ['/v1', {}],
  ])('under %s with %j each chunk is a whole line', async (path, headers) => {
    const who = await customer()
    const response = await stream(who, bodyOf('A whale'), { path, headers })
    const { id } = await taskOf(who)
    await life.progress(id, 50)
    await life.complete(id, who.accountId)
    const received = await allEventsIn(response.body)
    expect(received.pop()).toEqual({ data: '[DONE]' })
    const contents = received.map(contentOf)
    expect(contents.slice(0, -1)).toEqual([`task_id: ${id}\n`, 'progress: 50%\n', 'progress: 100%\n'])
    expect(contents.at(-1)).toMatch(/^video_url: \S+\n$/)
  })

  test("lines have the ids of the task's events, so that a client can resume with them", async () => {
    const who = await customer()
    const response = await stream(who, bodyOf('A whale'))
    const { id } = await taskOf(who)
    await life.progress(id, 50)
    await life.complete(id, who.accountId)
    const numbered = (await allEventsIn(response.body)).filter((event) => event.id !== undefined)
    const followed = await fetch(`${gateway.url}/v1/videos/${id}/events`, {
      headers: { authorization: `Bearer ${who.text}` },
    })
    const events = await allEventsIn(followed.body)
    expect(numbered.map((event) => event.id)).toEqual(events.map((event) => event.id))
    expect(contentOf(numbered.at(-1) as ReadEvent)).toMatch(/^video_url: /)
  })

  test('a task that starts without progress reports 0% once', async () => {
    const who = await customer()
    const events = eventsIn((await stream(who, bodyOf('A whale'))).body)
    await nextOf(events)
    const { id } = await taskOf(who)
    await life.begin(id)
    expect(contentOf(await nextOf(events))).toBe('progress: 0%\n')
    await events.return(undefined)
  })

  test.each([
    ['upstream_error', 'upstream_error'],
    ['content_policy_violation', 'content_policy_violation'],
    ['task_timeout', 'upstream_error'],
    ['task_cancelled', 'task_failed'],
  ] as const)('a task that fails with %s: the error and the end', async (code, similar) => {
    const who = await customer()
    const response = await stream(who, bodyOf('A whale'))
    const { id } = await taskOf(who)
    await life.progress(id, 10)
    await life.fail(id, code, 'It broke.')
    const events = await allEventsIn(response.body)
    expect(events.slice(0, 2).map(contentOf)).toEqual([`task_id: ${id}\n`, 'progress: 10%\n'])
    expect(events.slice(2)).toMatchObject([{ id: expect.any(String) }, { data: '[DONE]' }])
    const requestId = response.headers.get('x-request-id')
    expect(dataOf(events[2] ?? {})).toEqual(
      errorBodyOf(similar, { message: 'It broke.', code, request_id: requestId }),
    )
  })

  test('a disconnect does not cancel the task', async () => {
    const who = await customer()
    const disconnect = new AbortController()
    const response = await stream(who, bodyOf('A whale'), { signal: disconnect.signal })
    await nextOf(eventsIn(response.body))
    const { id } = await taskOf(who)
    disconnect.abort()
    await life.begin(id)
    await life.complete(id, who.accountId)
    expect((await taskOf(who)).state).toBe('completed')
  })

  test('a disconnect cancels the task with X-Cancel-On-Disconnect', async () => {
    const who = await customer()
    const disconnect = new AbortController()
    const headers = { 'x-cancel-on-disconnect': 'true' }
    const response = await stream(who, bodyOf('A whale'), { signal: disconnect.signal, headers })
    await nextOf(eventsIn(response.body))
    disconnect.abort()
    await expect.poll(async () => (await taskOf(who)).state).toBe('failed')
    const { id } = await taskOf(who)
    // Reads may come from a cache for a short time.
    const read = async () => (await ask(`${gateway.url}/v1/videos/${id}`, who.text)).body
    await expect.poll(read).toMatchObject({ error: { code: 'task_cancelled' } })
  })

  test('a gateway that shuts down names the event stream and does not cancel the task', async () => {
    const closing = await startGateway({}, gateway)
    const who = await customer()
    const response = await stream(who, bodyOf('A whale'), {
      url: closing.url,
      headers: { 'x-cancel-on-disconnect': 'true' },
    })
    const events = eventsIn(response.body)
    await nextOf(events)
    await closing[Symbol.asyncDispose]()
    const { id, state } = await taskOf(who)
    const message = expect.stringContaining(`/v1/videos/${id}/events`)
    expect(dataOf(await nextOf(events))).toEqual(errorBodyOf('service_unavailable', { message }))
    expect(await nextOf(events)).toEqual({ data: '[DONE]' })
    expect(state).toBe('pending')
  })
})

describe('200, not streamed', () => {
  const completionOf = (id: string, content: unknown) => ({
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created: expect.closeTo(Date.now() / 1000, -2),
    model: 'vidB-2-pro',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  })

  test('the three lines in one message when the video is completed', async () => {
    const who = await customer()
    const answering = complete(who, bodyOf('A whale', { model: 'vidB-2-pro', stream: false }))
    const { id } = await taskOf(who)
    await life.progress(id, 30)
    await life.complete(id, who.accountId)
    const answer = await answering
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(
      completionOf(
        id,
        expect.stringMatching(
          new RegExp(`^task_id: ${id}\nprogress: 100%\nvideo_url: https://videos\\.example/media/\\S+$`),
        ),
      ),
    )
  })

  test('a task that is still running at the time limit returns its progress', async () => {
    await using impatient = await startGateway({ CHAT_VIDEO_WAIT_SECONDS: '1' }, gateway)
    const who = await customer()
    const answering = complete(who, bodyOf('A whale', { model: 'vidB-2-pro' }), {}, impatient.url)
    const { id } = await taskOf(who)
    await life.progress(id, 30)
    const answer = await answering
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(completionOf(id, `task_id: ${id}\nprogress: 30%`))
  })

  test('the response comes before the timeout of a client library', async () => {
    const who = await customer()
    const headers = { 'x-stainless-lang': 'js', 'x-stainless-timeout': '11' }
    const answer = await complete(who, bodyOf('A whale', { model: 'vidB-2-pro' }), headers)
    const { id } = await taskOf(who)
    expect(answer.body).toEqual(completionOf(id, `task_id: ${id}\nprogress: 0%`))
  })

  test('a gateway that shuts down returns the progress', async () => {
    const closing = await startGateway({}, gateway)
    const who = await customer()
    const answering = complete(who, bodyOf('A whale', { model: 'vidB-2-pro' }), {}, closing.url)
    const { id } = await taskOf(who)
    await closing[Symbol.asyncDispose]()
    const answer = await answering
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(completionOf(id, `task_id: ${id}\nprogress: 0%`))
  })
})

describe('the order', () => {
  const orderOf = async (body: object) => {
    const who = await customer()
    const response = await stream(who, body)
    expect(response.status).toBe(200)
    await response.body?.cancel()
    return taskOf(who)
  }

  test('is the text of the last user message with the defaults of the family', async () => {
    const { createdVia, order } = await orderOf({
      model: 'vidB-2',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'A cat' },
        { role: 'assistant', content: null, tool_calls: [] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'A whale ' },
            { type: 'text', text: 'at sunset' },
          ],
        },
        { role: 'assistant', content: 'Very well.' },
      ],
    })
    expect(createdVia).toBe('chat')
    expect(order).toEqual({
      prompt: 'A whale at sunset',
      seconds: 10,
      sound: true,
      size: '1280x720',
      width: 1280,
      height: 720,
      watermark: true,
      isPrivate: false,
    })
  })

  test('has reference images, as text or as an object, and the orientation of the first one', async () => {
    const { id, order } = await orderOf(
      bodyOf([
        { type: 'image_url', image_url: { url: pngOf(400, 700), detail: 'high' } },
        { type: 'text', text: 'A whale' },
        { type: 'image_url', image_url: pngOf(700, 400) },
      ]),
    )
    expect(order).toMatchObject({ size: '720x1280', width: 720, height: 1280 })
    const { rows } = await gateway.database.postgres.query(
      `select 1 from media where task_id = $1 and kind = 'reference'`,
      [id],
    )
    expect(rows).toHaveLength(2)
    const square = await orderOf(
      bodyOf([
        { type: 'image_url', image_url: pixelUri },
        { type: 'text', text: 'A whale' },
      ]),
    )
    expect(square.order).toMatchObject({ size: '1280x720' })
  })

  test('may have an image or a prompt too long to be held in memory', async () => {
    const image = Buffer.concat([pixelBytes, Buffer.alloc(300_000)])
    image.writeUInt32BE(400, 16)
    image.writeUInt32BE(700, 20)
    const prompt = '🐳'.repeat(32_000)
    const { id, order } = await orderOf(
      bodyOf([
        { type: 'text', text: prompt },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${image.toString('base64')}` } },
      ]),
    )
    expect(order).toMatchObject({ prompt, size: '720x1280' })
    const { rows } = await gateway.database.postgres.query<{ bytes: number; sha256: string }>(
      `select size_bytes as bytes, encode(sha256, 'hex') as sha256 from media where task_id = $1 and kind = 'reference'`,
      [id],
    )
    expect(rows).toEqual([{ bytes: image.length, sha256: createHash('sha256').update(image).digest('hex') }])
  })

  test('ignores and lists parameters that only text replies have', async () => {
    const who = await customer()
    const settings = { temperature: 2, top_p: 0, max_tokens: 1, max_completion_tokens: 1_000_000 }
    const response = await stream(who, bodyOf('A whale', { ...settings, stream_options: {} }))
    expect(response.status).toBe(200)
    expect(response.headers.get('x-ignored-params')?.split(', ').toSorted()).toEqual(
      [...Object.keys(settings), 'stream_options'].toSorted(),
    )
    await response.body?.cancel()
  })
})

/** Expects exactly this error, streamed and not, and no changes in the database or in storage. */
const expectRefused = async (who: Customer, body: object, code: keyof typeof errors, param?: string) => {
  const before = await recordOf(gateway)
  for (const request of [body, { ...body, stream: true }])
    expectProblem(await complete(who, request), code, param)
  expect(await recordOf(gateway)).toEqual(before)
}

describe('400 missing_parameter', () => {
  test.each([
    ['no model', { messages: [{ role: 'user', content: 'A whale' }] }, 'model'],
    ['no messages', { model: 'vidB-2' }, 'messages'],
    ['an empty list', { model: 'vidB-2', messages: [] }, 'messages'],
    ['no user message', { model: 'vidB-2', messages: [{ role: 'system', content: 'A' }] }, 'messages'],
    ['a blank text', bodyOf('  '), 'messages'],
    ['no content', bodyOf(undefined), 'messages'],
    ['null', bodyOf(null), 'messages'],
    ['no parts', bodyOf([]), 'messages'],
    ['an image without text', bodyOf([{ type: 'image_url', image_url: pixelUri }]), 'messages'],
  ])('%s', async (_, body, param) => {
    await expectRefused(await customer(), body, 'missing_parameter', param)
  })
})

describe('400 invalid_parameter', () => {
  const text = { type: 'text', text: 'A whale' }
  test.each([
    ['messages that are not a list', { model: 'vidB-2', messages: 'A whale' }, 'messages'],
    ['a message that is not an object', { model: 'vidB-2', messages: ['A whale'] }, 'messages[0]'],
    ['no role', { model: 'vidB-2', messages: [{ content: 'A whale' }] }, 'messages[0].role'],
    [
      'an unknown role',
      { model: 'vidB-2', messages: [{ role: 'narrator', content: 'A' }] },
      'messages[0].role',
    ],
    ['a number', bodyOf(7), 'messages[0].content'],
    ['an object', bodyOf({ text: 'A whale' }), 'messages[0].content'],
    ['a part that is not an object', bodyOf(['A whale']), 'messages[0].content[0]'],
    ['a part without a type', bodyOf([{ text: 'A whale' }]), 'messages[0].content[0].type'],
    ['a part of another type', bodyOf([text, { type: 'input_audio' }]), 'messages[0].content[1].type'],
    ['a text that is not a string', bodyOf([{ type: 'text', text: 7 }]), 'messages[0].content[0].text'],
    ['a NUL character', bodyOf('A \0 whale'), 'messages[0].content'],
    [
      'an unpaired surrogate',
      bodyOf([{ type: 'text', text: 'A \ud83d whale' }]),
      'messages[0].content[0].text',
    ],
    ['a text too long', bodyOf('é'.repeat(32_001)), 'messages[0].content'],
    ['a text much too long', bodyOf('é'.repeat(320_001)), 'messages[0].content'],
    ['a missing image URL', bodyOf([text, { type: 'image_url' }]), 'messages[0].content[1].image_url'],
    [
      'an image without a URL',
      bodyOf([text, { type: 'image_url', image_url: {} }]),
      'messages[0].content[1].image_url',
    ],
    [
      'four images',
      bodyOf([text, ...Array.from({ length: 4 }, () => ({ type: 'image_url', image_url: pixelUri }))]),
      'messages[0].content',
    ],
    ['two replies', bodyOf('A whale', { n: 2 }), 'n'],
    ['zero replies', bodyOf('A whale', { n: 0 }), 'n'],
    ['a temperature over 2', bodyOf('A whale', { temperature: 2.1 }), 'temperature'],
    ['a temperature below 0', bodyOf('A whale', { temperature: -0.1 }), 'temperature'],
    ['a temperature that is not a number', bodyOf('A whale', { temperature: 'warm' }), 'temperature'],
    ['top_p over 1', bodyOf('A whale', { top_p: 1.01 }), 'top_p'],
    ['top_p below 0', bodyOf('A whale', { top_p: -1 }), 'top_p'],
    ['zero tokens', bodyOf('A whale', { max_tokens: 0 }), 'max_tokens'],
    ['a fractional number of tokens', bodyOf('A whale', { max_tokens: 1.5 }), 'max_tokens'],
    ['zero max_completion_tokens', bodyOf('A whale', { max_completion_tokens: 0 }), 'max_completion_tokens'],
    ['a model that is not a string', bodyOf('A whale', { model: 7 }), 'model'],
    ['a model of family A', bodyOf('A whale', { model: 'vidA_3_1' }), 'model'],
    ['a speech model', bodyOf('A whale', { model: 'ttsB-3.1-flash-tts-preview' }), 'model'],
  ])('%s', async (_, body, param) => {
    await expectRefused(await customer(), body, 'invalid_parameter', param)
  })

  test.each([0, 2, 129])('n of %i is refused because a video model supports only 1', async (n) => {
    const answer = await complete(await customer(), bodyOf('A whale', { n }))
    expectProblem(answer, 'invalid_parameter', 'n')
    expect(answer.body['error']).toHaveProperty('message', `'n' must be 1 (got ${n}).`)
  })

  test('stream that is not a boolean', async () => {
    const answer = await complete(await customer(), bodyOf('A whale', { stream: 'perhaps' }))
    expectProblem(answer, 'invalid_parameter', 'stream')
  })
})

describe('400 invalid_image', () => {
  test.each([
    ['data that is not an image', 'data:image/png;base64,AAAA'],
    ['a URL that may not be fetched', 'http://127.0.0.1:9/whale.png'],
    ['a long text that is not an image', `data:image/png;base64,${'A'.repeat(100_000)}`],
    ['a long text that is not base64', `data:image/png;base64,${'A'.repeat(100_000)}*`],
    ['a long text that is not a data URI', `https://example.org/${'a'.repeat(100_000)}`],
    ['an image of more than 20 MB', `data:image/png;base64,${'A'.repeat(28_000_000)}`],
  ])('%s', async (_, url) => {
    const body = bodyOf([
      { type: 'text', text: 'A whale' },
      { type: 'image_url', image_url: { url } },
    ])
    await expectRefused(await customer(), body, 'invalid_image', 'messages[0].content[1].image_url')
  })
})

/** The response of a non-streaming request whose task fails. */
const failing = async (code: TaskErrorCode): Promise<Answer> => {
  const who = await customer()
  const answering = complete(who, bodyOf('A whale'))
  const { id } = await taskOf(who)
  await life.fail(id, code, 'It broke.')
  const answer = await answering
  expect(answer.body['error']).toHaveProperty('message', 'It broke.')
  expect(answer.headers.get('x-should-retry')).toBe('false')
  return answer
}

describe('400 for a task that failed', () => {
  test.each([
    ['content_policy_violation', 'content_policy_violation'],
    ['invalid_image', 'invalid_image'],
    ['invalid_parameter', 'invalid_parameter'],
    ['task_cancelled', 'task_failed'],
  ] as const)('%s is returned as %s', async (code, answered) => {
    expectProblem(await failing(code), answered)
  })
})

describe('402', () => {
  test('insufficient_balance', async () => {
    await expectRefused(await customer({ balance: 0.9 }), bodyOf('A whale'), 'insufficient_balance')
  })
})

describe('403', () => {
  test('model_access_denied', async () => {
    const who = await customer({ models: ['vidB-2-pro'] })
    await expectRefused(who, bodyOf('A whale'), 'model_access_denied', 'model')
  })
})

describe('404', () => {
  test('model_not_found', async () => {
    await expectRefused(await customer(), bodyOf('A whale', { model: 'vidZ' }), 'model_not_found', 'model')
  })
})

describe('502 for a task that failed', () => {
  test.each(['upstream_error', 'task_timeout'] as const)('%s', async (code) => {
    expectProblem(await failing(code), 'upstream_error')
  })
})

describe('200, line by line', () => {
  test.each(['vidB-2', 'vidB-2-pro'])(
    '%s: each event is one data line, and [DONE] is the last',
    async (model) => {
      const who = await customer()
      const response = await stream(who, bodyOf('A whale', { model }))
      const { id } = await taskOf(who)
      await life.progress(id, 50)
      await life.complete(id, who.accountId)
      const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data'))
      expect(lines.pop()).toBe('data: [DONE]')
      const contents = lines.map((line) => {
        expect(line.startsWith('data: {')).toBe(true)
        const { choices } = JSON.parse(line.slice('data: '.length)) as {
          choices: { delta: { content: unknown } }[]
        }
        return choices[0]?.delta.content
      })
      expect(contents).toEqual([
        `task_id: ${id}\n`,
        'progress: 50%\n',
        'progress: 100%\n',
        expect.stringMatching(/^video_url: https:\/\/videos\.example\/\S+\n$/),
      ])
    },
  )
})
