/** A worker whose clock is stepped, by a library that the dynamic linker loads before the C library. */
import { globSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Fault } from './run-fault.ts'

const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1')
const steppedMs = 10_000

/** Why the fault cannot be caused on this machine; undefined if it can. */
export const clockProblem =
  library === undefined ? 'it needs libfaketime; install it with: apt-get install libfaketime' : undefined

const stepClock = (offsets: string[]): Fault => ({
  isLong: true,
  run: async ({ stack: { directory, workers } }) => {
    const [worker] = workers
    const file = join(directory, 'clock')
    // The library may read the file at any moment.
    const set = async (offset: string) => {
      await writeFile(`${file}.next`, offset)
      await rename(`${file}.next`, file)
    }
    await set('+0')
    await worker.kill('SIGTERM')
    await worker.start({
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      // Timers go on; a step changes only the time of day.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    })
    for (const offset of offsets) {
      await set(offset)
      await sleep(steppedMs)
    }
    await worker.kill('SIGTERM')
    await worker.start()
  },
})

export const clockFaults = {
  'clock +2 h': stepClock(['+7200', '+0']),
  'clock -2 h': stepClock(['-7200', '+0']),
} satisfies Record<string, Fault>
