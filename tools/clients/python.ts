/**
 * What the `openai` library for Python does with a service: the Python examples of the documentation, as they are printed. Needs root,
 * and a directory with Debian's python3-openai, which PYTHON_ROOT names.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import type { ClientLibrary } from './behaviour.ts'

const run = promisify(execFile)
const snippets = join(import.meta.dirname, '../../docs/snippets')

/** A directory of its own in which the examples of a behaviour run, one after another. */
interface Workplace {
  python: (snippet: string) => Promise<string>
  start: (snippet: string, environment: Record<string, string>) => ChildProcess
  directory: string
  service: (path: string, body?: FormData) => Promise<Record<string, unknown>>
}

const pythonRoot = (): string => {
  const root = process.env['PYTHON_ROOT']
  if (root !== undefined) return root
  throw new Error('PYTHON_ROOT must name a directory with python3-openai, see tools/prove-webhooks.ts.')
}

const check = (holds: boolean, message: string, shown: string) => {
  if (!holds) throw new Error(`${message}:\n${shown}`)
}

const isLargerThan = (file: string, bytes: number) =>
  check(statSync(file).size > bytes, `${file} is too small`, `${statSync(file).size} bytes`)

const withWorkplace = async (url: string, key: string, work: (place: Workplace) => Promise<void>) => {
  const root = pythonRoot()
  const directory = mkdtempSync(join(root, 'tmp/python-'))
  const inside = directory.slice(root.length)
  // The variables of this machine name files that are not there.
  const environment = {
    PATH: '/usr/sbin:/usr/bin:/bin',
    OPENAI_BASE_URL: `${url}/openai/v1`,
    OPENAI_API_KEY: key,
  }
  const command = (snippet: string): [string, string[]] => {
    copyFileSync(join(snippets, snippet), join(directory, snippet))
    return [
      'chroot',
      [root, 'sh', '-c', 'cd "$1" && exec python3 -W ignore::DeprecationWarning "$2"', 'sh', inside, snippet],
    ]
  }
  try {
    await work({
      directory,
      python: async (snippet) => (await run(...command(snippet), { env: environment })).stdout,
      start: (snippet, more) =>
        spawn(...command(snippet), {
          env: { ...environment, ...more },
          stdio: ['ignore', 'pipe', 'ignore'],
        }),
      service: async (path, body) => {
        const method = body === undefined ? 'GET' : 'POST'
        const init = { method, headers: { authorization: `Bearer ${key}` }, ...(body && { body }) }
        return (await (await fetch(`${url}${path}`, init)).json()) as Record<string, unknown>
      },
    })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const speak = async ({ python, directory }: Workplace) => {
  await python('create_speech.py')
  isLargerThan(join(directory, 'ships.mp3'), 1_000)
}

const receiveWebhook = async ({ start, service }: Workplace) => {
  const { secret } = await service('/v1/webhook_secret')
  const receiver = start('receive_webhooks.py', { PORT: '0', WEBHOOK_SECRET: String(secret) })
  const lines = receiver.stdout?.[Symbol.asyncIterator]()
  try {
    let output = ''
    const readUntil = async (pattern: RegExp): Promise<RegExpExecArray> => {
      for (;;) {
        const match = pattern.exec(output)
        if (match !== null) return match
        const next = await lines?.next()
        if (next?.done !== false) throw new Error(`It ended before it printed ${String(pattern)}:\n${output}`)
        output += String(next.value)
      }
    }
    const [, port] = await readUntil(/port (\d+)\n/)
    const form = new FormData()
    const fields = { model: 'vidB-2', seconds: '4', size: '1280x720' }
    const given = { prompt: 'A whale sim:fail=upstream_error', webhook_url: `http://127.0.0.1:${port}/` }
    for (const [name, value] of Object.entries({ ...fields, ...given })) form.set(name, value)
    const { id } = await service('/v1/videos', form)
    const [line] = await readUntil(/video\.\w+ .+\n/)
    check(line === `video.failed ${String(id)}\n`, 'another event was received', line)
  } finally {
    const exited = once(receiver, 'exit')
    receiver.kill()
    await exited
  }
}

interface Step {
  name: string
  calls: string[]
  note?: string
  /** The example that it runs. */
  snippet: string
  work: (place: Workplace) => Promise<void>
}

const steps: Step[] = [
  {
    name: 'a video is created, followed and downloaded',
    calls: ['videos.create_and_poll', 'videos.download_content'],
    snippet: 'create_video.py',
    work: async ({ python, directory }) => {
      const output = await python('create_video.py')
      check(output.startsWith('completed vidB-2:'), 'the video was not completed', output)
      isLargerThan(join(directory, 'whale.mp4'), 10_000)
    },
  },
  {
    name: 'a video starts from an image, with metadata, and is created once for an Idempotency-Key',
    calls: ['videos.create'],
    note: '`metadata` in `extra_body`, `Idempotency-Key` in `extra_headers`',
    snippet: 'video_from_image.py',
    work: async ({ python, directory, service }) => {
      const image = ['-f', 'lavfi', '-i', 'color=teal:s=1280x720', '-frames:v', '1', 'island.png']
      await run('ffmpeg', ['-loglevel', 'error', ...image], { cwd: directory })
      const output = await python('video_from_image.py')
      check(output.endsWith(" {'team': 'films'}\n"), 'the metadata is missing', output)
      const repeated = await python('video_from_image.py')
      check(repeated === output, 'the repetition created another video', repeated)
      await service(`/v1/videos/${output.split(' ')[0]}/cancel`, new FormData())
    },
  },
  {
    name: 'a quote has the price and creates nothing',
    calls: ['post'],
    note: 'for quotes and transcription tasks',
    snippet: 'quote_video.py',
    work: async ({ python }) => {
      const output = await python('quote_video.py')
      check(output === '0.4 USD True\n', 'the quote is wrong', output)
    },
  },
  {
    name: 'speech is streamed to a file',
    calls: ['audio.speech.with_streaming_response.create'],
    snippet: 'create_speech.py',
    work: speak,
  },
  {
    name: 'a recording becomes subtitles, and segments with times',
    calls: ['audio.transcriptions.create'],
    snippet: 'create_transcription.py',
    work: async (place) => {
      await speak(place)
      const output = await place.python('create_transcription.py')
      check(/-->[^]*first light[^]*\n[\d.]+ [\d.]+ .*first light/i.test(output), 'the text is wrong', output)
    },
  },
  {
    name: 'a long recording is transcribed by a task',
    calls: ['get', 'post'],
    snippet: 'transcription_task.py',
    work: async (place) => {
      await speak(place)
      const output = await place.python('transcription_task.py')
      check(/first light/i.test(output), 'the text is wrong', output)
    },
  },
  {
    name: 'a webhook is received and verified',
    calls: ['webhooks.unwrap'],
    snippet: 'receive_webhooks.py',
    work: receiveWebhook,
  },
  {
    name: 'an error has its status, code, parameter, request id and hint',
    calls: ['videos.create'],
    snippet: 'handle_errors.py',
    work: async ({ python }) => {
      const output = await python('handle_errors.py')
      check(/^400 invalid_parameter seconds req_\S+\nCorrect/.test(output), 'the error is wrong', output)
    },
  },
  {
    name: 'two videos are made at once by the async client',
    calls: ['videos.create_and_poll', 'videos.download_content'],
    note: 'also with `AsyncOpenAI`',
    snippet: 'create_videos_async.py',
    work: async ({ python, directory }) => {
      await python('create_videos_async.py')
      for (const name of ['video-0.mp4', 'video-1.mp4']) isLargerThan(join(directory, name), 10_000)
    },
  },
]

/** The examples that the behaviours run. */
export const pythonSnippets = steps.map(({ snippet }) => snippet)

/** The version of the library in PYTHON_ROOT. */
const readVersion = async (): Promise<string> => {
  const program = 'import openai; print(openai.__version__)'
  const { stdout } = await run('chroot', [pythonRoot(), 'python3', '-c', program], {
    env: { PATH: '/usr/sbin:/usr/bin:/bin' },
  })
  return stdout.trim()
}

/** The behaviours may run in any order. */
export const readPythonLibrary = async (): Promise<ClientLibrary> => ({
  library: 'openai-python',
  version: await readVersion(),
  behaviours: steps.map(({ name, calls, note, work }) => ({
    ...{ name, calls, result: 'works' },
    ...(note !== undefined && { note }),
    run: (url, key) => withWorkplace(url, key, work),
  })),
})
