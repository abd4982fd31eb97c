/** Reads keys and then ends in the way that its argument names, for the test of `readKeys`. */
import { readKeys } from '../../src/terminal/read-keys.ts'

const [, , way] = process.argv
const stopReading = readKeys({
  onKey: (key) => process.stdout.write(`got ${key}\n`),
  onStop: () => {
    process.stdout.write('told to stop\n')
    process.exit(0)
  },
})
process.stdout.write(`reads keys: ${stopReading !== undefined}\n`)

process.stdin.on('data', () => {
  if (way === 'throw') throw new Error('a crash')
  if (way === 'exit') process.exit(3)
  if (way === 'stop') stopReading?.()
  if (way === 'reject') void Promise.reject(new Error('a crash'))
  if (way === 'SIGTERM' || way === 'SIGINT') process.kill(process.pid, way)
})
