import { RefusedTask, serveInference } from '../../src/inference/serve-inference.ts'

export interface CountingTask {
  until: number
  refuse?: boolean
  break?: boolean
  hang?: boolean
}

export interface Count {
  number: number
  pid: number
}

let made = 0

/** A model that counts. The first chunk of a task contains the number of chunks that this process produced before. */
serveInference<CountingTask, Count>(async function* count(task, signal) {
  if (task.refuse === true) throw new RefusedTask('too_hard', 'This is too hard.')
  if (task.break === true) throw new Error('Something broke.')
  yield { number: made, pid: process.pid }
  if (task.hang === true) await new Promise(() => {})
  for (let number = 1; number <= task.until && !signal.aborted; number++) {
    made++
    yield { number, pid: process.pid }
  }
})
