/**
 * A customer's machine of `prove:image`: runs in a container with an address of its own and calls the public URL. Prints one
 * line of JSON. The command is the first parameter.
 */
import { setTimeout as sleep } from 'node:timers/promises'

const [, , command = '', url = '', key = '', given = ''] = process.argv

const call = (
  path: string,
  headers: Record<string, string> = {},
  { method, body }: Pick<RequestInit, 'method' | 'body'> = {},
) =>
  fetch(`${url}${path}`, {
    ...(method !== undefined && { method }),
    ...(body !== undefined && { body }),
    headers: { authorization: `Bearer ${key}`, ...headers },
  })

const order = { model: 'vidB-2', prompt: 'A whale at sunset', seconds: 4, size: '480x480' }

const commands: Record<string, () => Promise<unknown>> = {
  /** The statuses of this many requests, each with another made-up address, and how often each came. */
  flood: async () => {
    const statuses: Record<string, number> = {}
    for (let number = 0; number < Number(given); number += 1) {
      const response = await call('/v1/models', { 'x-forwarded-for': `198.51.100.${number % 250}` })
      await response.body?.cancel()
      statuses[response.status] = (statuses[response.status] ?? 0) + 1
    }
    return statuses
  },
  /** The status of one path. */
  status: async () => (await call(given)).status,
  /** Makes a video and returns the type and size of the file behind its link. */
  video: async () => {
    const headers = { 'content-type': 'application/json' }
    const created = await call('/v1/videos', headers, { method: 'POST', body: JSON.stringify(order) })
    let task = (await created.json()) as { id: string; status: string; video_url?: string }
    while (task.status !== 'completed' && task.status !== 'failed') {
      const response = await call(`/v1/videos/${task.id}`, { prefer: 'wait=20' })
      task = (await response.json()) as typeof task
      await sleep(100)
    }
    if (task.video_url === undefined) throw new Error(JSON.stringify(task))
    const file = await fetch(task.video_url)
    const sizeBytes = (await file.arrayBuffer()).byteLength
    return { status: file.status, type: file.headers.get('content-type'), sizeBytes, link: task.video_url }
  },
}

const run = commands[command]
if (run === undefined) throw new Error(`there is no command ${command}`)
process.stdout.write(`${JSON.stringify(await run())}\n`)
