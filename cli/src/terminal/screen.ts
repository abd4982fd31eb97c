/** Prints lines, and on a terminal keeps status lines below them. */
import { clipText, measureColumns, wrapText } from './columns.ts'

interface Output {
  isTTY?: boolean
  columns?: number
  write: (text: string) => unknown
  on?: (event: 'resize', listener: () => void) => unknown
  off?: (event: 'resize', listener: () => void) => unknown
}

export interface Screen {
  isTerminal: boolean
  columns: () => number
  /** Prints lines above the status. Wraps those that are too long; `indent` is that of their further lines. */
  print: (text: string, indent?: string) => void
  /** Prints a problem, on the standard error output. */
  warn: (text: string, indent?: string) => void
  /** Replaces the status lines. Has no effect without a terminal. */
  setStatus: (lines: string[]) => void
  /** Removes the status lines. Nothing is drawn after that. */
  close: () => void
}

/** Without a terminal, and for terminals that do not tell their width. */
const usualColumns = 80
const columnsMin = 20

interface Outputs {
  out?: Output
  error?: Output
  /** TERM=dumb: the terminal cannot move its cursor. */
  isDumb?: boolean
}

export const createScreen = ({
  out = process.stdout,
  error = process.stderr,
  isDumb = false,
}: Outputs = {}): Screen => {
  const isTerminal = out.isTTY === true && !isDumb
  let status: string[] = []
  let drawn: string[] = []
  let isClosed = false

  const readColumns = () => Math.max(columnsMin, out.columns ?? usualColumns)
  /** A program that reads the lines wants them whole. */
  const wrap = (text: string, indent: string) =>
    out.isTTY !== true
      ? text
      : text
          .split('\n')
          .flatMap((line) => wrapText(line, readColumns(), indent))
          .join('\n')

  /** Moves to the beginning of the status. A terminal that became narrower shows a line in several rows. */
  const erase = () => {
    if (drawn.length === 0) return ''
    const columns = readColumns()
    const rows = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(measureColumns(line) / columns)), 0)
    drawn = []
    return `${rows > 1 ? `\u001B[${rows - 1}A` : ''}\r\u001B[J`
  }
  const draw = () => {
    if (isClosed) return ''
    // A terminal may wrap as soon as its last column is filled.
    drawn = status.map((line) => clipText(line, readColumns() - 1))
    return drawn.join('\n')
  }
  const redraw = () => {
    out.write(`${erase()}${draw()}`)
  }
  if (isTerminal) out.on?.('resize', redraw)

  const print = (text: string, indent = '') => {
    if (!isTerminal) out.write(`${wrap(text, indent)}\n`)
    else out.write(`${erase()}${wrap(text, indent)}\n${draw()}`)
  }
  return {
    isTerminal,
    columns: readColumns,
    print,
    warn(text, indent = '') {
      // On one terminal, both outputs must not write into each other.
      if (isTerminal && error.isTTY === true) print(text, indent)
      else error.write(`${wrap(text, indent)}\n`)
    },
    setStatus(lines) {
      status = lines
      if (isTerminal && !isClosed) redraw()
    },
    close() {
      if (isClosed) return
      isClosed = true
      out.off?.('resize', redraw)
      if (isTerminal) out.write(erase())
    },
  }
}
