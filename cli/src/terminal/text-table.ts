/** A table that fits the terminal. Elsewhere the cells are separated by tabs, complete and without a header. */
import { cleanText } from './clean-text.ts'
import { print, style, type Style } from './print.ts'
import { fitText, measureText } from './text-width.ts'

export interface Column<Row> {
  title: string
  cell: (row: Row) => string
  /** Takes what is left and is cut first. */
  isFlexible?: true
  isRight?: true
  style?: (row: Row) => Style | undefined
}

const gap = 2
const columnMin = 8
const columnsDefault = 80

/** Narrows columns until the table fits: first the flexible one, then the widest of the others. The first one stays. */
const fitWidths = (widths: number[], flexible: number, width: number): number[] => {
  const fitted = [...widths]
  const excess = () => fitted.reduce((sum, each) => sum + each, 0) + gap * (fitted.length - 1) - width
  const own = fitted[flexible]
  if (own !== undefined) fitted[flexible] = Math.max(Math.min(own, columnMin), own - Math.max(0, excess()))
  while (excess() > 0) {
    const widest = Math.max(...fitted.slice(1))
    if (widest <= columnMin) break
    fitted[fitted.lastIndexOf(widest)] = widest - 1
  }
  return fitted
}

export const formatTable = <Row>(
  rows: readonly Row[],
  given: readonly Column<Row>[],
  width: number,
): string[] => {
  // A column without any text is left out.
  const columns = given.filter(({ cell }) => rows.length === 0 || rows.some((row) => cell(row) !== ''))
  const cells = rows.map((row) => columns.map(({ cell }) => cleanText(cell(row))))
  const widths = fitWidths(
    columns.map(({ title }, index) =>
      Math.max(measureText(title), ...cells.map((line) => measureText(line[index] ?? ''))),
    ),
    columns.findIndex(({ isFlexible }) => isFlexible === true),
    width,
  )
  const lineOf = (texts: string[], styleAt: (index: number) => Style | undefined) =>
    columns
      .map(({ isRight }, index) => {
        const text = fitText(texts[index] ?? '', widths[index] ?? 0)
        const padding = ' '.repeat(Math.max(0, (widths[index] ?? 0) - measureText(text)))
        const styles = styleAt(index)
        const styled = styles === undefined ? text : style(styles, text)
        return isRight === true ? `${padding}${styled}` : `${styled}${padding}`
      })
      .join(' '.repeat(gap))
      .trimEnd()
  const header = lineOf(
    columns.map(({ title }) => title),
    () => 'dim',
  )
  const body = rows.map((row, index) => lineOf(cells[index] ?? [], (at) => columns[at]?.style?.(row)))
  return [header, ...body]
}

export const printTable = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): void => {
  if (process.stdout.isTTY) {
    const width = process.stdout.columns > 0 ? process.stdout.columns : columnsDefault
    for (const line of formatTable(rows, columns, width)) print(line)
    return
  }
  for (const row of rows) print(columns.map(({ cell }) => cleanText(cell(row))).join('\t'))
}
