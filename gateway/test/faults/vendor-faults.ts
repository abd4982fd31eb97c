/** Vendors that fail for a while. */
import { setTimeout as sleep } from 'node:timers/promises'

import { noFaults, type VendorFaults } from '../../../dev/vendor/control.ts'
import { completionsPerSecond } from './completions.ts'
import type { FaultStack } from './fault-stack.ts'
import type { Fault } from './run-fault.ts'

const spellMs = 6_000
const spells: Partial<VendorFaults>[] = [
  { failedSubmits: 200 },
  { droppedReplies: 30 },
  { fault: 'silence@submitx20' },
  { down: true },
  { unavailablePolls: 100 },
  { fault: 'truncated-json@pollx40' },
  { fault: 'drop@downloadx20' },
  { garbageReplies: 30 },
]

/** With those of the steady tasks, more than the engine executes at once. */
const downloadsAtOnce = 400

const setAll = ({ vendors }: FaultStack, faults: Partial<VendorFaults>) =>
  Promise.all(Object.values(vendors).map((vendor) => vendor.set({ ...noFaults, ...faults })))

const trickle =
  (beforeMs: number, windows: number, windowMs: number): Fault['run'] =>
  async (scene) => {
    const { client, stack } = scene
    const { vendors } = stack
    await sleep(beforeMs)
    const before = await completionsPerSecond(scene, beforeMs, 'repeatable')
    await vendors.findable.set({ fault: 'drip@downloadxall' })
    client.burst(downloadsAtOnce, 'findable')
    // Until the slots are full.
    await sleep(windowMs)
    // The worst of several: the engine repeats an invocation that does not end, and others catch up meanwhile.
    const rates: number[] = []
    for (let window = 0; window < windows; window += 1) {
      await sleep(windowMs)
      rates.push(await completionsPerSecond(scene, windowMs, 'repeatable'))
    }
    await vendors.findable.set(noFaults)
    scene.report('completions of the other provider', Math.min(...rates) / before)
  }

export const vendorFaults = {
  'vendor errors': {
    run: async ({ stack }) => {
      for (const spell of spells) {
        await setAll(stack, spell)
        await sleep(spellMs)
      }
      await setAll(stack, {})
    },
  },
  // So long that the slots for downloads would be used up several times over.
  'trickled downloads': { run: trickle(10_000, 2, 15_000) },
} satisfies Record<string, Fault>
