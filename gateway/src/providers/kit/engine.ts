import type { Engine } from '../port/engine.ts'
import { type AnswerHeaders, one } from './http/classify.ts'

/** Reads the engine from the response headers of the built-in provider. */
export function engineIn(headers: AnswerHeaders): Engine | undefined {
  const name = one(headers['x-engine'])
  return name === undefined ? undefined : { name, wanted: one(headers['x-engine-wanted']) }
}
