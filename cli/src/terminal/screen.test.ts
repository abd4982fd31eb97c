import { expect, test } from 'vitest'

import { createScreen } from './screen.ts'

/** A terminal that shows in rows what was written, for the few codes that a screen uses. */
const createTerminal = (columns: number) => {
  let rows: string[] = ['']
  let row = 0
  let column = 0
  const resizes = new Set<() => void>()
  const put = (character: string) => {
    if (column === terminal.columns) {
      row += 1
      column = 0
    }
    rows[row] =
      `${(rows[row] ?? '').padEnd(column).slice(0, column)}${character}${(rows[row] ?? '').slice(column + 1)}`
    column += 1
  }
  const terminal = {
    isTTY: true,
    columns,
    on: (_event: 'resize', listener: () => void) => resizes.add(listener),
    off: (_event: 'resize', listener: () => void) => resizes.delete(listener),
    write(text: string) {
      for (const [part] of text.matchAll(/\p{Cc}\[(\d*)([A-Z])|\p{Cc}|[^]/gu)) {
        if (part === '\n') {
          row += 1
          column = 0
          rows[row] ??= ''
        } else if (part === '\r') column = 0
        else if (part.endsWith('A') && part.length > 1) row -= Number(part.slice(2, -1))
        else if (part.endsWith('J') && part.length > 1) {
          rows = [...rows.slice(0, row), (rows[row] ?? '').slice(0, column)]
        } else put(part)
      }
    },
    /** Terminals wrap the lines anew. This one only shows lines that were never wrapped. */
    resize(next: number) {
      const wrapped = rows.flatMap((line) => line.match(new RegExp(`.{1,${next}}`, 'g')) ?? [''])
      rows = wrapped
      row = rows.length - 1
      column = rows[row]?.length ?? 0
      terminal.columns = next
      for (const each of resizes) each()
    },
    read: () => rows,
  }
  return terminal
}

test('lines appear above the status, which is drawn once', () => {
  const terminal = createTerminal(40)
  const screen = createScreen({ out: terminal, error: terminal })
  screen.setStatus(['working', 'q quit'])
  screen.print('first')
  screen.warn('a problem')
  screen.setStatus(['still working', 'q quit'])
  expect(terminal.read()).toEqual(['first', 'a problem', 'still working', 'q quit'])
  screen.setStatus(['q quit'])
  screen.print('second')
  screen.close()
  expect(terminal.read()).toEqual(['first', 'a problem', 'second', ''])
})

test('no row is wider than the terminal, also after it became narrower', () => {
  const terminal = createTerminal(40)
  const screen = createScreen({ out: terminal, error: terminal })
  screen.setStatus(['a status that needs nearly all columns', 'q quit'])
  terminal.resize(22)
  expect(terminal.read()).toEqual(['a status that needs…', 'q quit'])
  screen.print('a line that is longer than the terminal is wide', '  ')
  expect(terminal.read()).toEqual([
    'a line that is longer',
    '  than the terminal is',
    '  wide',
    'a status that needs…',
    'q quit',
  ])
})

test('without a terminal there are no codes, and problems go to the other output', () => {
  const written = { out: '', error: '' }
  const screen = createScreen({
    out: { write: (text) => (written.out += text) },
    error: { write: (text) => (written.error += text) },
  })
  screen.setStatus(['working'])
  screen.print('a line')
  screen.warn('a problem')
  screen.close()
  expect(written).toEqual({ out: 'a line\n', error: 'a problem\n' })
})
