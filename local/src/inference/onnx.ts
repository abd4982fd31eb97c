import { createRequire } from 'node:module'
import path from 'node:path'

/** What is used of onnxruntime. It is pulled like the weights, so its own types are not at hand. */
export interface Tensor {
  readonly data: Float32Array
  readonly dims: readonly number[]
  dispose: () => void
}

export interface Session {
  /** Only the results that are named are handed over. */
  run: (feeds: Record<string, Tensor>, results: readonly string[]) => Promise<Record<string, Tensor>>
  release: () => Promise<void>
}

export interface Onnx {
  /** A file, or the bytes of one. */
  open: (model: string | Uint8Array) => Promise<Session>
  floats: (data: Float32Array, dims: number[]) => Tensor
  integers: (values: readonly number[], dims: number[]) => Tensor
  flag: (value: boolean) => Tensor
}

interface Runtime {
  InferenceSession: {
    create: (model: string | Uint8Array, options: Record<string, unknown>) => Promise<Session>
  }
  Tensor: new (
    type: string,
    data: Float32Array | BigInt64Array | readonly boolean[],
    dims: number[],
  ) => Tensor
}

const threads = 2

/** `folder` is the set `onnxruntime`, which holds the package as `npm` would have laid it out. */
export function loadOnnx(folder: string): Onnx {
  const runtime = createRequire(path.join(folder, '/'))('onnxruntime-node') as Runtime
  const options = {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    // Errors only: the quantised weights draw warnings that nobody can act on.
    logSeverityLevel: 3,
    extra: {
      session: {
        // Unpacks a quantised matrix once instead of with every token: a token costs a fourth of the processor time.
        disable_quant_qdq: '1',
        // Waiting threads sleep, so that they take nothing from renders next door.
        intra_op: { allow_spinning: '0' },
      },
    },
  }
  return {
    open: (model) => runtime.InferenceSession.create(model, options),
    floats: (data, dims) => new runtime.Tensor('float32', data, dims),
    integers: (values, dims) => new runtime.Tensor('int64', BigInt64Array.from(values, BigInt), dims),
    flag: (value) => new runtime.Tensor('bool', [value], [1]),
  }
}
