import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { loadOnnx, type Onnx, type Session, type Tensor } from '../inference/onnx.ts'
import { serveInference } from '../inference/serve-inference.ts'
import { cutModel } from './cut-model.ts'
import { finishClause } from './finish-clause.ts'
import { continued, softestPlace } from './join-parts.ts'

/** The process of Kokoro. A task is one clause; its pieces are the clause's samples, in one or several parts. */
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
  /** About how long the first part may be; what is longer comes in growing parts, so that the first is there soon. */
  firstSeconds: number
}

/** Stands before the first token and after the last. */
const edge = 0
const styleSize = 256

/**
 * What the first half of the model makes of a clause and the second half makes sound of: the sounds to make, the pitch and
 * the loudness over time. The first half sees the whole clause, so its melody is that of the whole clause however many
 * parts the second half is run in.
 */
const cut = ['/encoder/MatMul_1_output_0', '/encoder/Reshape_output_0', '/encoder/Reshape_1_output_0']
const samplesPerFrame = 600
const framesPerSecond = 40
/** A part is a little longer at either end than what is heard of it, because its very edges are not right. */
const edgeFrames = 6
const overlapFrames = 12
/** Parts are joined at the softest place of so many frames. */
const joinFrames = 16
/** Each part may be so much longer than the one before, for it is made while that one is heard. */
const growth = 1.4
/** Longer parts would keep a listener on a busy machine waiting for too long. */
const longestPartSeconds = 5
/** A short rest would be a part of its own with too little in it to sound right, so it is left with the last part. */
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

/** Better weights may be there since the last task. */
async function current(task: KokoroTask): Promise<Loaded> {
  const before = await loaded?.catch(() => undefined)
  if (before?.model === task.model) return before
  await before?.plan.release()
  await before?.voice.release()
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

/** Frames `from` to `until` of each tensor; some have more than one value to a frame. */
function framesOf(onnx: Onnx, planned: Record<string, Tensor>, from: number, until: number, count: number) {
  const part = ({ data, dims }: Tensor): Tensor => {
    const width = dims.at(-1)!
    const each = width / count
    const taken = (until - from) * each
    const values = new Float32Array((data.length / width) * taken)
    for (let row = 0; row * width < data.length; row++) {
      const start = row * width + from * each
      values.set(data.subarray(start, start + taken), row * taken)
    }
    return onnx.floats(values, [...dims.slice(0, -1), taken])
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
    if (waveform === undefined) throw new Error('Kokoro answered without sound.')
    return waveform.data
  }

  const { gain, pause } = task
  let room = Math.max(joinFrames * 2, task.firstSeconds * framesPerSecond)
  const mostRoom = Math.max(room, longestPartSeconds * framesPerSecond)
  /** What was made and not yet heard, and the sample of the clause that it starts with. */
  let ahead: { sound: Float32Array; start: number } | undefined
  for (let heard = 0; ; room = Math.min(mostRoom, room * growth)) {
    if (signal.aborted) return
    const frame = Math.floor(heard / samplesPerFrame)
    const from = Math.max(0, frame - overlapFrames)
    const isLast = count - frame <= room * restShare
    const until = isLast ? count : Math.ceil(frame + room + edgeFrames)
    const made = await soundOf(from, until)
    const offset = heard - from * samplesPerFrame
    const sound = ahead === undefined ? made : continued(ahead.sound, heard - ahead.start, made, offset)
    const end = sound.length - edgeFrames * samplesPerFrame
    const stop = isLast ? sound.length : softestPlace(sound, end - joinFrames * samplesPerFrame, end)
    yield finishClause(sound.subarray(0, stop), { gain, pause, isStart: heard === 0, isEnd: isLast })
    if (isLast) return
    ahead = { sound, start: heard }
    heard += stop
  }
})
