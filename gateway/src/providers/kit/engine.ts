import type { Engine } from '../port/engine.ts'
import { type AnswerHeaders, one } from './http/classify.ts'

/** Which engine answered, as a provider of our own tells in its headers. */
export function engineIn(headers: AnswerHeaders): Engine | undefined {
  const name = one(headers['x-engine'])
  return name === undefined ? undefined : { name, wanted: one(headers['x-engine-wanted']) }
}
