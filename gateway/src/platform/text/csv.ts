/** Tables of comma-separated values (RFC 4180). */

/** Quotes names, which may contain anything. A spreadsheet would run a text that begins like a formula. */
const formatValue = (value: string | number | null): string => {
  if (typeof value !== 'string') return String(value ?? '')
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A header line with the names of the columns, and a line for each row. */
export const formatCsv = (names: string[], rows: object[]): string =>
  [
    names.map(formatValue),
    ...rows.map((row) => names.map((name) => formatValue(Reflect.get(row, name) as string | number | null))),
  ]
    .map((values) => `${values.join(',')}\r\n`)
    .join('')

export const csvHeaders = (filename: string): Record<string, string> => ({
  'content-type': 'text/csv; charset=utf-8; header=present',
  'content-disposition': `attachment; filename="${filename}"`,
})
