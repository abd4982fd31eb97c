import { boundaries } from './boundaries.mjs'
import { disableReasons } from './disable-reasons.mjs'
import { importCycles } from './import-cycles.mjs'
import { logTexts } from './log-texts.mjs'
import { wallClock } from './wall-clock.mjs'

/** The oxlint plugin with the rules of this project. */
export default {
  meta: { name: 'kinora' },
  rules: {
    boundaries,
    'disable-reasons': disableReasons,
    'import-cycles': importCycles,
    'log-texts': logTexts,
    'wall-clock': wallClock,
  },
}
