import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { serveInference } from '../inference/serve-inference.ts'
import { loadOnnx, type Onnx, type Session } from '../recognition/onnx.ts'
import { finishClause } from './finish-clause.ts'

/** The process of Kokoro. A task is one clause, its one piece the clause's samples. */
export interface KokoroTask {
  /** The folders of these sets. */
  onnxruntime: string
  model: string
  voices: string
  /** Name of a voice's file of styles. */
  style: string
  tokens: number[]
  gain: number
  /** Seconds of silence to end with. */
  pause: number
}

/** Stands before the first token and after the last. */
const edge = 0
const styleSize = 256

interface Loaded {
  model: string
  onnx: Onnx
  session: Session
}

let loaded: Promise<Loaded> | undefined
const styles = new Map<string, Float32Array>()

async function load({ onnxruntime, model }: KokoroTask): Promise<Loaded> {
  const onnx = loadOnnx(onnxruntime)
  return { model, onnx, session: await onnx.open(path.join(model, 'model.onnx')) }
}

/** Better weights may be there since the last task. */
async function current(task: KokoroTask): Promise<Loaded> {
  const before = await loaded?.catch(() => undefined)
  if (before?.model === task.model) return before
  await before?.session.release()
  loaded = load(task)
  return await loaded
}

/** A voice has one style for each count of tokens. */
async function styleFor({ voices, style, tokens }: KokoroTask): Promise<Float32Array> {
  const file = path.join(voices, `${style}.bin`)
  let rows = styles.get(file)
  if (rows === undefined) {
    const bytes = await readFile(file)
    rows = new Float32Array(new Uint8Array(bytes).buffer)
    styles.set(file, rows)
  }
  const row = Math.min(tokens.length, rows.length / styleSize - 1)
  return rows.slice(row * styleSize, (row + 1) * styleSize)
}

serveInference<KokoroTask, Buffer>(async function* speakClause(task) {
  const [{ onnx, session }, style] = await Promise.all([current(task), styleFor(task)])
  const tokens = [edge, ...task.tokens, edge]
  const feeds = {
    input_ids: onnx.integers(tokens, [1, tokens.length]),
    style: onnx.floats(style, [1, styleSize]),
    speed: onnx.floats(Float32Array.of(1), [1]),
  }
  const { waveform } = await session.run(feeds, ['waveform'])
  if (waveform === undefined) throw new Error('Kokoro answered without sound.')
  yield finishClause(waveform.data, task.gain, task.pause)
})
