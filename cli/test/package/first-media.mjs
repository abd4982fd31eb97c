/**
 * Uses an installed package as its documentation says: starts `npx kinora dev`, creates a video and a speech, saves both,
 * and stops with Ctrl-C. Runs in the directory of the installation, with the Node that is to be tested.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'

const port = 18_787
// Like a terminal, which sends Ctrl-C to the whole process group.
const service = spawn(
  'npx',
  ['--no-install', 'kinora', 'dev', '--json', '--no-models', '--port', String(port)],
  {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  },
)
const exited = once(service, 'exit')
const [line] = await Promise.race([
  once(createInterface({ input: service.stdout }), 'line'),
  exited.then(() => {
    throw new Error('kinora dev ended before it was ready')
  }),
])
const { url, keys } = JSON.parse(line)

const call = async (path, { body, headers } = {}) => {
  const response = await fetch(`${url}${path}`, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: { authorization: `Bearer ${keys.payg}`, 'content-type': 'application/json', ...headers },
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response
}

const order = { model: 'vidB-2', prompt: 'A whale at sunset', seconds: 4, size: '480x480' }
let task = await (await call('/v1/videos', { body: order })).json()
while (!['completed', 'failed'].includes(task.status)) {
  task = await (await call(`/v1/videos/${task.id}`, { headers: { prefer: 'wait=60' } })).json()
}
if (task.status !== 'completed') throw new Error(JSON.stringify(task))
await writeFile('first.mp4', (await fetch(task.video_url)).body)

const speech = { model: 'tts-1', voice: 'alloy', input: 'Hello from an installed package.' }
await writeFile('first.mp3', (await call('/v1/audio/speech', { body: speech })).body)

process.kill(-Number(service.pid), 'SIGINT')
const [code, signal] = await exited
process.stdout.write(`${JSON.stringify({ node: process.version, ending: signal ?? code })}\n`)
