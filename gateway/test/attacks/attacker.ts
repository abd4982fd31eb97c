/**
 * The attacker runs in its own process, so that it does not share an event loop with the probes. It prepares, reports
 * that it is ready, attacks on command, and ends after its time or together with the process that started it.
 */
import { setPriority } from 'node:os'

import { attacks, type AttackName } from './attacks.ts'
import { createClient } from './client.ts'
import type { Target } from './target.ts'

export type ToAttacker =
  | { kind: 'prepare'; attack: AttackName; target: Target }
  | { kind: 'attack'; durationMs: number }
export type FromAttacker = { kind: 'ready' } | { kind: 'done'; answers: Record<string, number> }

// A real attacker has its own machine; here it must not take CPU time from the API.
setPriority(10)
process.on('disconnect', () => process.exit())

const tell = (message: FromAttacker) => process.send?.(message)
const received = () =>
  new Promise<ToAttacker>((resolve) => {
    process.once('message', (message) => resolve(message as ToAttacker))
  })

const order = await received()
if (order.kind !== 'prepare') throw new Error('the attacker got an order to attack before it was prepared')
const run = await attacks[order.attack](order.target)
tell({ kind: 'ready' })
const start = await received()
if (start.kind !== 'attack') throw new Error('the attacker was prepared twice')
const signal = AbortSignal.timeout(start.durationMs)
// Also ends an attack whose connections stay open.
setTimeout(() => process.exit(), start.durationMs + 2_000)
const client = createClient(order.target, signal)
const ended = new Promise((resolve) => signal.addEventListener('abort', resolve))
await run(client, signal)
// An attack that has used up its rate limits still ends only after its time.
await ended
tell({ kind: 'done', answers: client.answers })
process.disconnect()
