/** The lines at the bottom of the terminal: what is in progress, and the keys. */
import { formatSeconds } from '../terminal/format.ts'
import { style } from '../terminal/print.ts'
import type { Screen } from '../terminal/screen.ts'
import { redrawEveryMs, spinnerFrame } from '../terminal/spinner.ts'

/** What is over sooner needs no time. */
const timedAfterMs = 1_000

interface Work {
  /** Replaces the text after the name. */
  update: (text: string) => void
  end: () => void
}

export interface StatusLines {
  /** Shows a line with a moving sign and the time until it ends. */
  begin: (name: string) => Work
  /** The last line: keys, or a question. */
  setKeys: (line: string | undefined) => void
}

export const createStatusLines = (screen: Screen): StatusLines => {
  const running = new Map<symbol, { name: string; text: string; startedMs: number }>()
  let keys: string | undefined
  let timer: NodeJS.Timeout | undefined
  let frame = 0

  const draw = () => {
    const sign = style('cyan', spinnerFrame(frame))
    const lines = [...running.values()].map(({ name, text, startedMs }) => {
      const elapsedMs = performance.now() - startedMs
      const time =
        elapsedMs < timedAfterMs ? '' : style('dim', `  ${formatSeconds(Math.floor(elapsedMs / 1000))}`)
      return `  ${sign} ${name}${text === '' ? '' : `  ${text}`}${time}`
    })
    screen.setStatus(keys === undefined ? lines : [...lines, keys])
  }
  const tick = () => {
    frame += 1
    draw()
  }
  return {
    begin(name) {
      const id = Symbol(name)
      running.set(id, { name, text: '', startedMs: performance.now() })
      // Without a terminal nothing is drawn.
      if (screen.isTerminal) timer ??= setInterval(tick, redrawEveryMs).unref()
      draw()
      return {
        update(text) {
          const work = running.get(id)
          if (work !== undefined) work.text = text
        },
        end() {
          running.delete(id)
          if (running.size === 0) {
            clearInterval(timer)
            timer = undefined
          }
          draw()
        },
      }
    },
    setKeys(line) {
      keys = line
      draw()
    },
  }
}
