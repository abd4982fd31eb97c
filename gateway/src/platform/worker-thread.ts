/**
 * Runs CPU-bound work in a worker thread. The thread starts with the first request and ends after a minute without
 * requests. It processes requests one after the other.
 */
import { parentPort, Worker } from 'node:worker_threads'

interface Asked<Question> {
  id: number
  question: Question
}

type Answered<Answer> = { id: number } & ({ answer: Answer } | { error: Error })

export interface WorkerThread<Question, Answer> {
  ask: (question: Question) => Promise<Answer>
  close: () => Promise<void>
}

const idleMs = 60_000

export const createWorkerThread = <Question, Answer>(program: URL): WorkerThread<Question, Answer> => {
  const waiting = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>()
  let worker: Worker | undefined
  let lastId = 0
  let idle: NodeJS.Timeout | undefined

  const end = async () => {
    clearTimeout(idle)
    const ending = worker
    worker = undefined
    await ending?.terminate()
  }
  const start = (): Worker => {
    const started = new Worker(program)
    // The thread does not keep the process alive.
    started.unref()
    started.on('message', (answered: Answered<Answer>) => {
      const asker = waiting.get(answered.id)
      waiting.delete(answered.id)
      if (waiting.size === 0) idle = setTimeout(() => void end(), idleMs).unref()
      if ('error' in answered) asker?.reject(answered.error)
      else asker?.resolve(answered.answer)
    })
    const fail = (error: Error) => {
      // A thread that ended because it was idle has no pending requests, and a new one may already run.
      if (worker !== started && worker !== undefined) return
      worker = undefined
      for (const { reject } of waiting.values()) reject(error)
      waiting.clear()
    }
    started.on('error', fail).on('exit', () => fail(new Error('the worker thread has ended')))
    return started
  }

  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        clearTimeout(idle)
        worker ??= start()
        const asked: Asked<Question> = { id: ++lastId, question }
        waiting.set(asked.id, { resolve, reject })
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
        worker.postMessage(asked)
      }),
    close: end,
  }
}

/** Called by the program of the thread: handles the requests one after the other. */
export const answerQuestions = <Question, Answer>(
  answer: (question: Question) => Answer | Promise<Answer>,
): void => {
  const reply = async ({ id, question }: Asked<Question>): Promise<Answered<Answer>> => {
    try {
      return { id, answer: await answer(question) }
    } catch (error) {
      return { id, error: error instanceof Error ? error : new Error(String(error)) }
    }
  }
  let before: Promise<void> = Promise.resolve()
  parentPort?.on('message', (asked: Asked<Question>) => {
    before = before.then(async () => {
      const answered = await reply(asked)
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      parentPort?.postMessage(answered)
    })
  })
}
