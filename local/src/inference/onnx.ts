import { createRequire } from 'node:module'
import path from 'node:path'

/** The part of onnxruntime that is used here. It is pulled like the weights, so its own types are not available. */
export interface Tensor {
  readonly data: Float32Array
  readonly dims: readonly number[]
  dispose: () => void
}

export interface Session {
  /** Returns only the named results. */
  run: (feeds: Record<string, Tensor>, results: readonly string[]) => Promise<Record<string, Tensor>>
  release: () => Promise<void>
}

export interface Onnx {
  /** The path of a model file, or its bytes. */
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

/** `folder` is the model set `onnxruntime`, which contains the package in the layout of npm. */
export function loadOnnx(folder: string): Onnx {
  const runtime = createRequire(path.join(folder, '/'))('onnxruntime-node') as Runtime
  const options = {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    // Errors only: the quantized weights cause warnings that require no action.
    logSeverityLevel: 3,
    extra: {
      session: {
        // Unpacks a quantized matrix once instead of for every token, which reduces the CPU time per token to a fourth.
        disable_quant_qdq: '1',
        // Waiting threads sleep instead of spinning, which leaves the CPU to renders.
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
