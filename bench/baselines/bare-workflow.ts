/**
 * The baseline: a workflow with as many steps as a video has, which do nothing. This process also
 * starts it and resolves what it waits for. A message with a number runs so many and is answered when all have ended.
 */
import { createServer } from 'node:http2'

import * as restate from '@restatedev/restate-sdk'
import { Pool } from 'undici'

import { answerRuns } from './answer-runs.ts'

const [port, ingressUrl = ''] = process.argv.slice(2)
const ingress = new Pool(ingressUrl, { connections: 32 })
const resolveEveryMs = 50
const startsAtOnce = 32

const call = async (path: string, body?: unknown) => {
  const response = await ingress.request({
    method: 'POST',
    path,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  })
  await response.body.dump()
  if (response.statusCode >= 300) throw new Error(`the engine answered ${response.statusCode} to ${path}`)
}

let waiting: string[] = []
let left = 0
let onAllEnded = () => {}

const bareWorkflow = restate.workflow({
  name: 'bareWorkflow',
  options: {
    inactivityTimeout: { milliseconds: 200 },
    abortTimeout: { minutes: 15 },
    journalRetention: { seconds: 0 },
    workflowRetention: { days: 1 },
  },
  handlers: {
    run: async (ctx: restate.WorkflowContext) => {
      const outcome = ctx.awakeable<null>()
      await ctx.run('submit', () => {
        waiting.push(outcome.id)
      })
      await outcome.promise.orTimeout({ hours: 1 })
      await ctx.run('store', () => ({ mediaId: 'none' }))
      await ctx.run('settle', () => undefined)
      await ctx.run('end', () => {
        left -= 1
        if (left === 0) onAllEnded()
      })
    },
  },
})

setInterval(() => {
  const ids = waiting
  waiting = []
  for (const id of ids) call(`/restate/awakeables/${id}/resolve`, null).catch(() => waiting.push(id))
}, resolveEveryMs)

const run = async (count: number) => {
  left = count
  const ended = new Promise<void>((resolve) => {
    onAllEnded = resolve
  })
  const prefix = Date.now()
  let next = 0
  const start = async () => {
    while (next < count) {
      next += 1
      await call(`/restate/send/bareWorkflow/${prefix}-${next}/run`)
    }
  }
  await Promise.all(Array.from({ length: startsAtOnce }, start))
  await ended
}

createServer(
  restate.createEndpointHandler({ services: [bareWorkflow], bidirectional: true, logger: () => undefined }),
).listen(Number(port), '127.0.0.1', () => answerRuns(run))
