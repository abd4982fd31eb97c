/**
 * Loaded with `--import` before a role: replaces one piece of source text of one file, so that a control runs without
 * one guard. The file itself is not changed.
 */
import { registerHooks } from 'node:module'

import { mutate, mutatedUrl, mutationNotice, mutationVariable, type Mutation } from './mutation.ts'

const mutation = JSON.parse(process.env[mutationVariable] ?? '') as Mutation
const source = mutate(mutation)
const target = mutatedUrl(mutation).href

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context)
    if (url !== target) return loaded
    process.stderr.write(`${mutationNotice}: ${mutation.file}\n`)
    return { ...loaded, source }
  },
})
