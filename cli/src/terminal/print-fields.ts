/** One object as lines of a name and a value. */
import { cleanText, print, style, type Style } from './print.ts'

export type Field = readonly [name: string, value: string, styles?: Style | undefined]

/** Fields without a value are left out. */
export const printFields = (fields: readonly Field[]): void => {
  const shown = fields.filter(([, value]) => value !== '')
  const width = Math.max(0, ...shown.map(([name]) => name.length))
  for (const [name, value, styles] of shown) {
    const text = cleanText(value)
    print(`${style('dim', name.padEnd(width))}  ${styles === undefined ? text : style(styles, text)}`)
  }
}
