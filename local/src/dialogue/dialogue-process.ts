import { serveInference } from '../inference/serve-inference.ts'
import type { DialogueChunk, DialogueTask } from './dialogue-task.ts'
import { loadTinyLlama, type TinyLlama } from './tinyllama.ts'

let loading: Promise<TinyLlama> | undefined

/** The module that the process of the dialogue model runs. */
serveInference<DialogueTask, DialogueChunk>(async function* reply(task, signal) {
  loading ??= loadTinyLlama(task.weights, task.runtime)
  const model = await loading.catch((error: unknown) => {
    loading = undefined
    throw error
  })
  yield* model.reply(task, signal)
})
