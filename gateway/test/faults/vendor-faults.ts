/** Vendors that fail for a while. */
import { setTimeout as sleep } from 'node:timers/promises'

import { noFaults, type VendorFaults } from '../../../dev/vendor/control.ts'
import { completionsOfModel, completionsPerSecond } from './completions.ts'
import { modelOf, type FaultStack } from './fault-stack.ts'
import { mediaDiskProblem } from './media-disk.ts'
import type { Fault, FaultScene } from './run-fault.ts'

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

const beforeMs = 4_000
const closedMs = 15_000
const fullMs = 10_000
const completionsOf = (scene: FaultScene, overMs: number) => completionsOfModel(scene, overMs, modelOf.either)

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

/** The vendor that a model prefers cannot be reached. Its tasks are done by the other vendor. */
const failOver: Fault['run'] = async (scene) => {
  const before = await completionsOf(scene, beforeMs)
  const { findable } = scene.stack.vendors
  await findable.closeFor(closedMs)
  const during = await completionsOf(scene, closedMs)
  scene.report('completions of the model with another route', during / before)
}

const fillDisk: Fault['run'] = async ({ stack: { mediaDisk } }) => {
  if (mediaDiskProblem !== undefined) throw new Error(mediaDiskProblem)
  if (mediaDisk === undefined) throw new Error('the media directory has no disk of its own')
  await mediaDisk.fill()
  await sleep(fullMs)
  await mediaDisk.empty()
}

export const vendorFaults = {
  'vendor fails over': { run: failOver },
  // Uploads are refused, and results wait.
  'media disk full': { stopsCreates: true, run: fillDisk },
  'vendor errors': {
    isLong: true,
    recoveredWithinMs: 180_000,
    run: async ({ stack }) => {
      for (const spell of spells) {
        await setAll(stack, spell)
        await sleep(spellMs)
      }
      await setAll(stack, {})
    },
  },
  // So long that the slots for downloads would be used up several times over.
  'trickled downloads': { isLong: true, run: trickle(10_000, 2, 15_000) },
} satisfies Record<string, Fault>
