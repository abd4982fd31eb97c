import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

import { ask } from '../kit/answers.ts'
import { startStack } from '../kit/stack.ts'

const run = promisify(execFile)

const prompts = [
  'A whale swimming through a calm ocean at sunset',
  'A dragon over snowy mountains',
  'An astronaut near a ringed planet in deep space',
  'A quiet pine forest in the morning mist',
  'Golden dunes in the desert',
  'A neon city at night in the rain',
  'A boat on a lake at dawn',
  'Red cliffs above a stormy sea',
  'A field of flowers in spring',
  'Northern lights over ice',
]

test('ten real renders survive a kill of the worker and of the provider, and each is a playable video', async () => {
  await using stack = await startStack({ provider: 'local' })
  const ids = await Promise.all(prompts.map((prompt) => stack.create(prompt)))
  await stack.until(
    'a first render is completed',
    async () => ((await stack.states())['completed'] ?? 0) >= 1,
  )
  await Promise.all([stack.workers[0]?.kill(), stack.local.kill()])
  await Promise.all([stack.workers[0]?.start(), stack.local.start()])
  const ms = await stack.until(
    'all renders are completed',
    async () => (await stack.states())['completed'] === 10,
  )
  console.log(
    `worker and provider killed and started again: all ten renders completed ${Math.round(ms)} ms later`,
  )
  await stack.assertBooks({ completed: 10, failed: 0 })

  for (const id of ids) {
    const { body } = await ask(`${stack.url}/v1/videos/${id}`, stack.key)
    const download = await fetch(String(body['video_url']))
    const file = join(stack.directory, 'download.mp4')
    await writeFile(file, Buffer.from(await download.arrayBuffer()))
    const { stdout } = await run('ffprobe', [
      ...[
        '-v',
        'error',
        '-show_entries',
        'stream=codec_name,width,height:format=duration',
        '-of',
        'json',
        file,
      ],
    ])
    const probed = JSON.parse(stdout) as { streams: unknown[]; format: { duration: string } }
    expect(probed.streams).toMatchObject([
      { codec_name: 'h264', width: 480, height: 480 },
      { codec_name: 'aac' },
    ])
    expect(Number(probed.format.duration)).toBeCloseTo(4, 1)
  }
})
