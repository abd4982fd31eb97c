/** Customers and an operator who do everything that a metric counts, until they are stopped. */
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

import { ask, askJson, form, pixel } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { createOperator } from '../kit/operator.ts'
import { spoken } from '../kit/recording.ts'
import { audioForm, encoded, wave } from '../kit/sound.ts'
import type { Stack } from '../kit/stack.ts'

/** The models of each provider of the stack. */
export const models = {
  /** The simulated vendor, which has every model that no other provider has. */
  vendor: 'vidB-2',
  local: 'vidB-2-pro',
  /** The vendor with a key that it refuses. */
  refused: 'vidA3',
  /** An address where nothing listens. */
  unreachable: 'vidA3.1',
  speech: 'chat-4o-mini-tts-2025-12-15',
  localSpeech: 'ttsB-3.1-flash-tts-preview',
  transcription: 'asr-1',
  chat: 'chat-4o-audio-preview',
}

export interface Load {
  /** How often each activity has run, and how often it was answered with each status. */
  statuses: () => Record<string, Record<number, number>>
  stop: () => Promise<void>
}

const pauseMs = 300

export const startLoad = async (stack: Stack): Promise<Load> => {
  const { url, key, database } = stack
  const { postgres } = database
  const operator = await createOperator(stack)
  const poor = (await createKey(postgres, await createAccount(postgres, { balance: 0 }))).text
  const limited = (
    await createKey(postgres, await createAccount(postgres), { limits: { create: 1, read: 1 } })
  ).text
  const counts: Record<string, Record<number, number>> = {}
  const ended = new AbortController()
  const { signal } = ended

  const noted = (name: string, status: number) => {
    const each = (counts[name] ??= {})
    each[status] = (each[status] ?? 0) + 1
  }
  const video = (prompt: string, fields: Record<string, string | Blob> = {}, with_: string = key) =>
    ask(`${url}/v1/videos`, with_, {
      method: 'POST',
      body: form({ model: models.vendor, prompt, seconds: '4', size: '480x480', ...fields }),
      signal,
    })
  const idOf = ({ body }: { body: Record<string, unknown> }) => String(body['id'])
  const untilEnded = async (id: string) => {
    for (;;) {
      const { body } = await ask(`${url}/v1/videos/${id}?wait=5`, key, { signal })
      if (['completed', 'failed'].includes(String(body['status']))) return body
      await wait(pauseMs, undefined, { signal })
    }
  }
  const speak = (input: string, model = models.speech, voice = 'nova') =>
    fetch(`${url}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, input, voice, response_format: 'wav' }),
      signal,
    }).then(async (response) => {
      await response.arrayBuffer()
      return response
    })
  /** Decoded by a program. */
  const recording = await encoded(wave(2), 'out.mp3')
  const recognize = (task: 'transcriptions' | 'translations', prompt = 'Names') =>
    ask(`${url}/v1/audio/${task}`, key, {
      method: 'POST',
      body: audioForm(recording, { model: models.transcription, prompt }, 'speech.mp3'),
      signal,
    })
  const converse = (content: string, stream = false) =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ model: models.chat, stream, messages: [{ role: 'user', content }] },
        ...(!stream && { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } }),
      }),
      signal,
    }).then(async (response) => {
      await response.text()
      return response
    })
  const read = async (path: string, with_?: string, init: RequestInit = {}) => {
    const response = await fetch(`${url}${path}`, {
      ...init,
      headers: { ...(with_ !== undefined && { authorization: `Bearer ${with_}` }) },
      signal,
    })
    await response.arrayBuffer()
    return response
  }

  /** Each runs again and again, after the given pause. */
  const activities: Record<string, { everyMs: number; run: () => Promise<{ status: number }> }> = {
    'a video, its content and its removal': {
      everyMs: 2_000,
      run: async () => {
        const created = await video('A whale', { input_reference: pixel })
        if (created.status !== 200) return created
        const id = idOf(created)
        const body = await untilEnded(id)
        await read(`/v1/videos/${id}/content`, key)
        const [link] = JSON.stringify(body).match(/https?:[^"]+\/media\/[^"]+/) ?? []
        if (link !== undefined) await read(new URL(link).pathname + new URL(link).search)
        await read(`/v1/videos/${id}`, key, { method: 'DELETE' })
        return created
      },
    },
    'a video of the built-in provider': {
      everyMs: 20_000,
      run: async () => {
        const created = await video('A lighthouse', { model: models.local, size: '720x1280' })
        if (created.status === 200) await untilEnded(idOf(created))
        return created
      },
    },
    'a video that the built-in provider fails': {
      everyMs: 5_000,
      run: () => video('A lake sim:fail=upstream_error', { model: models.local, size: '720x1280' }),
    },
    'videos at a vendor that misbehaves': {
      everyMs: 4_000,
      run: async () => {
        await video('A vendor:reject=content_policy_violation whale')
        await video('A vendor:fail=server_error whale')
        await video('A vendor:busy=1 vendor:poll-503=1 vendor:cut-media=1 whale')
        return video('A vendor:drop-reply vendor:duration=5000 whale')
      },
    },
    'a video at a provider that refuses the key': {
      everyMs: 5_000,
      run: () => askJson(`${url}/v1/video/create`, key, { model: models.refused, prompt: 'A whale' }),
    },
    'a video at a provider that cannot be reached': {
      everyMs: 5_000,
      run: () => askJson(`${url}/v1/video/create`, key, { model: models.unreachable, prompt: 'A whale' }),
    },
    'a video that is cancelled': {
      everyMs: 3_000,
      run: async () => {
        const id = idOf(await video('A vendor:never whale'))
        return ask(`${url}/v1/videos/${id}/cancel`, key, { method: 'POST', signal })
      },
    },
    'a video that waits for its vendor': {
      everyMs: 8_000,
      run: () => video('A vendor:duration=10000 whale'),
    },
    speech: { everyMs: 1_000, run: () => speak('The ships left. vendor:chunks=4 vendor:pace=20') },
    'speech of the built-in provider': {
      everyMs: 4_000,
      run: () => speak('The ships left.', models.localSpeech, 'Kore'),
    },
    'speech that fails': { everyMs: 3_000, run: () => speak('Hello vendor:500') },
    transcription: { everyMs: 2_000, run: () => recognize('transcriptions') },
    'transcription that is refused': {
      everyMs: 4_000,
      run: () => recognize('transcriptions', 'vendor:moderated'),
    },
    translation: { everyMs: 2_000, run: () => recognize('translations') },
    'a long recording': {
      everyMs: 5_000,
      run: () =>
        ask(`${url}/v1/audio/transcription-tasks`, key, {
          method: 'POST',
          body: audioForm(spoken(4), { model: models.transcription }),
          signal,
        }),
    },
    'a conversation': { everyMs: 2_000, run: () => converse('Hello') },
    'a streamed conversation': { everyMs: 2_000, run: () => converse('Hello', true) },
    'a broken recording': {
      everyMs: 3_000,
      run: () =>
        ask(`${url}/v1/audio/transcriptions`, key, {
          method: 'POST',
          body: audioForm(Buffer.from('no sound'), { model: models.transcription }),
          signal,
        }),
    },
    'lists and status': {
      everyMs: 500,
      run: async () => {
        for (const path of ['/v1/videos', '/v1/models', '/v1/me', '/v1/usage']) await read(path, key)
        return read('/status')
      },
    },
    'a path that is none': { everyMs: 1_000, run: () => read('/v1/nothing', key) },
    'a wrong key': { everyMs: 1_000, run: () => read('/v1/videos', 'sk-wrong') },
    'an invalid order': { everyMs: 1_000, run: () => video('A whale', { seconds: 'many' }) },
    'an order without money': { everyMs: 2_000, run: () => video('A whale', {}, poor) },
    'more orders than the limit': { everyMs: 1_000, run: () => video('A whale', {}, limited) },
    'a missing file': {
      everyMs: 2_000,
      run: () => read(`/media/0198f000-0000-7000-8000-000000000000/none.mp4`),
    },
    'an operator': {
      everyMs: 5_000,
      run: async () => {
        await operator.ask('listAccounts')
        return operator.ask('getHealth')
      },
    },
    'media that cannot be stored': {
      everyMs: 15_000,
      run: async () => {
        const media = join(stack.directory, 'media')
        await rename(media, `${media}-moved`)
        await writeFile(media, 'a file in the place of the directory')
        try {
          return await ask(`${url}/v1/audio/transcription-tasks`, key, {
            method: 'POST',
            body: audioForm(spoken(4), { model: models.transcription }),
            signal,
          })
        } finally {
          await rm(media)
          await rename(`${media}-moved`, media)
        }
      },
    },
    'a database that refuses a row': {
      everyMs: 6_000,
      run: async () => {
        const name = 'refused_by_test'
        await postgres.query(
          `alter table video_tasks drop constraint if exists ${name},
             add constraint ${name} check (video_order ->> 'prompt' not like 'Refused%') not valid`,
        )
        return video('Refused')
      },
    },
  }

  const repeat = async (name: string, everyMs: number, run: () => Promise<{ status: number }>) => {
    while (!signal.aborted) {
      try {
        const { status } = await run()
        noted(name, status)
        await wait(everyMs, undefined, { signal })
      } catch (error) {
        if (signal.aborted) return
        throw new Error(`${name}: ${String(error)}`, { cause: error })
      }
    }
  }
  const running = Promise.all(
    Object.entries(activities).map(([name, { everyMs, run }]) => repeat(name, everyMs, run)),
  )
  running.catch(() => undefined)
  return {
    statuses: () => structuredClone(counts),
    stop: async () => {
      ended.abort()
      await running
    },
  }
}
