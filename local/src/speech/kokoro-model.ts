import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { loadOnnx, type Onnx, type Session, type Tensor } from '../inference/onnx.ts'
import { serveInference } from '../inference/serve-inference.ts'
import { cutModel } from './cut-model.ts'
import { finishClause } from './finish-clause.ts'
import { continued, softestPlace } from './join-parts.ts'

/** The process of Kokoro. A task is one clause. Its chunks are the samples of the clause, in one or several parts. */
export interface KokoroTask {
  /** Folders of the model sets. */
  onnxruntime: string
  model: string
  voices: string
  /** Name of the style file of the voice. */
  style: string
  tokens: number[]
  gain: number
  /** Seconds of silence at the end. */
  pause: number
  /** The approximate length of the first part. A longer clause is split into growing parts to start playback soon. */
  firstSeconds: number
}

/** The token before the first and after the last one. */
const edge = 0
const styleSize = 256

/**
 * The tensors between the two halves of the model: sounds, pitch and loudness over time. The first half processes the
 * whole clause, so the intonation does not depend on the number of parts that the second half produces.
 */
const cut = ['/encoder/MatMul_1_output_0', '/encoder/Reshape_output_0', '/encoder/Reshape_1_output_0']
const samplesPerFrame = 600
const framesPerSecond = 40
/** Each part is generated with extra frames at both ends, which are cut off because the edges are inaccurate. */
const edgeFrames = 6
const overlapFrames = 12
/** Parts are joined at the softest position in this number of frames. */
const joinFrames = 16
/** Each part may be longer than the previous one by this factor, because it is generated while that one plays. */
const growth = 1.4
/** Longer parts would interrupt playback on a busy machine. */
const longestPartSeconds = 5
/** A short rest is added to the last part, because it would not sound right on its own. */
const restShare = 1.25

interface Loaded {
  model: string
  onnx: Onnx
  plan: Session
  voice: Session
}

let loaded: Promise<Loaded> | undefined
const styles = new Map<string, Float32Array>()

async function load({ onnxruntime, model }: KokoroTask): Promise<Loaded> {
  const onnx = loadOnnx(onnxruntime)
  const halves = cutModel(await readFile(path.join(model, 'model.onnx')), cut)
  const plan = await onnx.open(halves.first())
  return { model, onnx, plan, voice: await onnx.open(halves.second()) }
}

/** Reloads if better weights were pulled since the last task. */
async function current(task: KokoroTask): Promise<Loaded> {
  const before = await loaded?.catch(() => undefined)
  if (before?.model === task.model) return before
  await before?.plan.release()
  await before?.voice.release()
  loaded = load(task)
  return await loaded
}

/** A voice has one style for each number of tokens. */
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

/** Frames `from` to `until` of each tensor. Some tensors have several values per frame. */
function framesOf(onnx: Onnx, planned: Record<string, Tensor>, from: number, until: number, count: number) {
  const part = ({ data, dims }: Tensor): Tensor => {
    const width = dims.at(-1)!
    const each = width / count
    const length = (until - from) * each
    const values = new Float32Array((data.length / width) * length)
    for (let row = 0; row * width < data.length; row++) {
      const start = row * width + from * each
      values.set(data.subarray(start, start + length), row * length)
    }
    return onnx.floats(values, [...dims.slice(0, -1), length])
  }
  return Object.fromEntries(cut.map((name) => [name, part(planned[name]!)]))
}

serveInference<KokoroTask, Buffer>(async function* speakClause(task, signal) {
  const [{ onnx, plan, voice }, styleValues] = await Promise.all([current(task), styleFor(task)])
  const tokens = [edge, ...task.tokens, edge]
  const style = onnx.floats(styleValues, [1, styleSize])
  const speed = onnx.floats(Float32Array.of(1), [1])
  const planned = await plan.run({ input_ids: onnx.integers(tokens, [1, tokens.length]), style, speed }, cut)
  const count = planned[cut[0]!]!.dims.at(-1)!
  const soundOf = async (from: number, until: number): Promise<Float32Array> => {
    const { waveform } = await voice.run({ style, ...framesOf(onnx, planned, from, until, count) }, [
      'waveform',
    ])
    if (waveform === undefined) throw new Error('Kokoro returned no sound.')
    return waveform.data
  }

  const { gain, pause } = task
  let partFrames = Math.max(joinFrames * 2, task.firstSeconds * framesPerSecond)
  const maxPartFrames = Math.max(partFrames, longestPartSeconds * framesPerSecond)
  /** The previous part, and the sample of the clause that it starts with. */
  let ahead: { sound: Float32Array; start: number } | undefined
  for (let emitted = 0; ; partFrames = Math.min(maxPartFrames, partFrames * growth)) {
    if (signal.aborted) return
    const frame = Math.floor(emitted / samplesPerFrame)
    const from = Math.max(0, frame - overlapFrames)
    const isLast = count - frame <= partFrames * restShare
    const until = isLast ? count : Math.ceil(frame + partFrames + edgeFrames)
    const made = await soundOf(from, until)
    const offset = emitted - from * samplesPerFrame
    const sound = ahead === undefined ? made : continued(ahead.sound, emitted - ahead.start, made, offset)
    const end = sound.length - edgeFrames * samplesPerFrame
    const stop = isLast ? sound.length : softestPlace(sound, end - joinFrames * samplesPerFrame, end)
    yield finishClause(sound.subarray(0, stop), { gain, pause, isStart: emitted === 0, isEnd: isLast })
    if (isLast) return
    ahead = { sound, start: emitted }
    emitted += stop
  }
})
