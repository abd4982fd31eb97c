/** Shows the progress of a long command on stderr: one line that is replaced on a terminal, and a line now and then elsewhere. */
const terminalEveryMs = 100
const logEveryMs = 5_000
/** What is over sooner needs no progress. */
const firstAfterMs = 1_000

export interface ProgressLine {
  show: (text: string) => void
  /** Removes the line, so that the result can be printed. */
  clear: () => void
}

export const createProgressLine = (
  terminal: { isTTY?: boolean; write: (text: string) => unknown } = process.stderr,
): ProgressLine => {
  const isTerminal = terminal.isTTY === true
  const everyMs = isTerminal ? terminalEveryMs : logEveryMs
  let nextMs = performance.now() + firstAfterMs
  return {
    show: (text) => {
      if (performance.now() < nextMs) return
      nextMs = performance.now() + everyMs
      terminal.write(isTerminal ? `\r\u001B[K${text}` : `${text}\n`)
    },
    clear: () => {
      if (isTerminal) terminal.write('\r\u001B[K')
    },
  }
}

/**
 * Aborts on Ctrl-C and SIGTERM, so that programs which were started end too. With `disconnect` also when the parent
 * process ends; that keeps a process with such a parent alive.
 */
export const untilStopped = (...more: 'disconnect'[]): AbortSignal => {
  const stop = new AbortController()
  for (const event of ['SIGINT', 'SIGTERM', ...more]) {
    process.once(event, () => stop.abort(new Error('Stopped.')))
  }
  return stop.signal
}

export const formatBytes = (bytes: number): string => {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  return `${(bytes / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`
}
