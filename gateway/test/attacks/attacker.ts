/**
 * The attacker as a process of its own, so that it does not share an event loop with the probes. It prepares, says that
 * it is ready, attacks when told to, and ends by itself: after its time, or when the process that started it is gone.
 */
import { setPriority } from 'node:os'

import { attacks, type AttackName } from './attacks.ts'
import { createClient } from './client.ts'
import type { Target } from './target.ts'

export type ToAttacker =
  | { kind: 'prepare'; attack: AttackName; target: Target }
  | { kind: 'attack'; durationMs: number }
export type FromAttacker = { kind: 'ready' } | { kind: 'done'; answers: Record<string, number> }

// A real attacker has a machine of its own: here it must not take processor time from the API.
setPriority(10)
process.on('disconnect', () => process.exit())

const tell = (message: FromAttacker) => process.send?.(message)
const received = () =>
  new Promise<ToAttacker>((resolve) => {
    process.once('message', (message) => resolve(message as ToAttacker))
  })

const order = await received()
if (order.kind !== 'prepare') throw new Error('the attacker was told to attack before it was told what')
const run = await attacks[order.attack](order.target)
tell({ kind: 'ready' })
const start = await received()
if (start.kind !== 'attack') throw new Error('the attacker was prepared twice')
const signal = AbortSignal.timeout(start.durationMs)
// Also ends an attack whose connections do not let go.
setTimeout(() => process.exit(), start.durationMs + 2_000)
const client = createClient(order.target, signal)
const ended = new Promise((resolve) => signal.addEventListener('abort', resolve))
await run(client, signal)
// An attack that has used up what its keys allow is over when its time is.
await ended
tell({ kind: 'done', answers: client.answers })
process.disconnect()
