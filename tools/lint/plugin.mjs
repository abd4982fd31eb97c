import { boundaries } from './boundaries.mjs'
import { disableReasons } from './disable-reasons.mjs'
import { importCycles } from './import-cycles.mjs'
import { wallClock } from './wall-clock.mjs'

/** The oxlint plugin with the rules of this project. */
export default {
  meta: { name: 'kinora' },
  rules: {
    boundaries,
    'disable-reasons': disableReasons,
    'import-cycles': importCycles,
    'wall-clock': wallClock,
  },
}
