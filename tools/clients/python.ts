/**
 * What the `openai` library for Python does with a service: the Python examples of the documentation, as they are printed. Needs root,
 * and a directory with Debian's python3-openai, which PYTHON_ROOT names.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const snippets = join(import.meta.dirname, '../../docs/snippets')

/** A directory of its own in which the examples of a behaviour run, one after another. */
interface Workplace {
  python: (snippet: string) => Promise<string>
  start: (snippet: string, environment: Record<string, string>) => ChildProcess
  directory: string
  service: (path: string, body?: FormData) => Promise<Record<string, unknown>>
}

interface Behaviour {
  name: string
  /** `url` is that of the service, without a path. Throws if the library does not do what the name says. */
  run: (url: string, key: string) => Promise<void>
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

/** The behaviours, with the snippets that each runs. */
const steps: [name: string, snippets: string[], work: (place: Workplace) => Promise<void>][] = [
  [
    'videos.create_and_poll, videos.download_content',
    ['create_video.py'],
    async ({ python, directory }) => {
      const output = await python('create_video.py')
      check(output.startsWith('completed vidB-2:'), 'the video was not completed', output)
      isLargerThan(join(directory, 'whale.mp4'), 10_000)
    },
  ],
  [
    'videos.create with an image, metadata and an Idempotency-Key',
    ['video_from_image.py'],
    async ({ python, directory, service }) => {
      const image = ['-f', 'lavfi', '-i', 'color=teal:s=1280x720', '-frames:v', '1', 'island.png']
      await run('ffmpeg', ['-loglevel', 'error', ...image], { cwd: directory })
      const output = await python('video_from_image.py')
      check(output.endsWith(" {'team': 'films'}\n"), 'the metadata is missing', output)
      const repeated = await python('video_from_image.py')
      check(repeated === output, 'the repetition created another video', repeated)
      await service(`/v1/videos/${output.split(' ')[0]}/cancel`, new FormData())
    },
  ],
  [
    'a quote',
    ['quote_video.py'],
    async ({ python }) => {
      const output = await python('quote_video.py')
      check(output === '0.4 USD True\n', 'the quote is wrong', output)
    },
  ],
  ['audio.speech, streamed to a file', ['create_speech.py'], speak],
  [
    'audio.transcriptions as subtitles and with segments',
    ['create_transcription.py'],
    async (place) => {
      await speak(place)
      const output = await place.python('create_transcription.py')
      check(/-->[^]*first light[^]*\n[\d.]+ [\d.]+ .*first light/i.test(output), 'the text is wrong', output)
    },
  ],
  [
    'transcription of a long recording',
    ['transcription_task.py'],
    async (place) => {
      await speak(place)
      const output = await place.python('transcription_task.py')
      check(/first light/i.test(output), 'the text is wrong', output)
    },
  ],
  ['webhooks.unwrap', ['receive_webhooks.py'], receiveWebhook],
  [
    'errors with status, code, parameter and hint',
    ['handle_errors.py'],
    async ({ python }) => {
      const output = await python('handle_errors.py')
      check(/^400 invalid_parameter seconds req_\S+\nCorrect/.test(output), 'the error is wrong', output)
    },
  ],
  [
    'two videos at once with the async client',
    ['create_videos_async.py'],
    async ({ python, directory }) => {
      await python('create_videos_async.py')
      for (const name of ['video-0.mp4', 'video-1.mp4']) isLargerThan(join(directory, name), 10_000)
    },
  ],
]

/** The examples that a behaviour runs. */
export const pythonSnippets = steps.flatMap(([, names]) => names)

/** The behaviours of the library. They may run in any order. */
export const pythonBehaviours: Behaviour[] = steps.map(([name, , work]) => ({
  name,
  run: (url, key) => withWorkplace(url, key, work),
}))

/** The version of the library in PYTHON_ROOT. */
export const readPythonVersion = async (): Promise<string> => {
  const program = 'import openai; print(openai.__version__)'
  const { stdout } = await run('chroot', [pythonRoot(), 'python3', '-c', program], {
    env: { PATH: '/usr/sbin:/usr/bin:/bin' },
  })
  return stdout.trim()
}
