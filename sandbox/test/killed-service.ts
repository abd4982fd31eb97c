/** Starts programs in the sandbox, and is killed while they start, as by the kernel when memory runs out. */
import { setTimeout as sleep } from 'node:timers/promises'

import { startSandboxed } from '../src/sandbox.ts'

const programs = 12
const apartMsMax = 10
const [seconds = ''] = process.argv.slice(2)
const confined = { program: 'sleep', parameters: [seconds], mounts: [], cpuSecondsMax: 60, fileBytesMax: 0 }
for (let started = 0; started < programs; started += 1) {
  startSandboxed({ bubblewrapPath: 'bwrap' }, confined, ['ignore', 'ignore', 'ignore'])
  await sleep(Math.random() * apartMsMax)
}
process.kill(process.pid, 'SIGKILL')
