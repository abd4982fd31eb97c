import { boundaries } from './boundaries.mjs'
import { importCycles } from './import-cycles.mjs'
import { journaled } from './journaled.mjs'
import { reasons } from './reasons.mjs'

/** The rules of this house, as a plugin of oxlint. */
export default {
  meta: { name: 'house' },
  rules: { boundaries, 'import-cycles': importCycles, journaled, reasons },
}
