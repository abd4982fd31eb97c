/** Reads the metrics of a process as Prometheus would. */

export interface Scrape {
  text: string
  /** The values by series, such as `name{label="value"}`. */
  series: Map<string, number>
  /** The sum of the series of a metric that have these labels. */
  sum: (name: string, labels?: Record<string, string>) => number
}

const line = /^([a-zA-Z_:][\w:]*(?:\{.*\})?) (\S+)$/
const valueOf = (text: string) => (text === '+Inf' ? Infinity : Number(text))

const parseScrape = (text: string): Scrape => {
  const series = new Map<string, number>()
  for (const row of text.split('\n')) {
    if (row === '' || row.startsWith('#')) continue
    const [, name, value] = line.exec(row) ?? []
    if (name === undefined || value === undefined) throw new Error(`not a line of Prometheus: ${row}`)
    if (series.has(name)) throw new Error(`a series is given twice: ${row}`)
    series.set(name, valueOf(value))
  }
  return {
    text,
    series,
    sum: (name, labels = {}) =>
      [...series]
        .filter(([key]) => key === name || key.startsWith(`${name}{`))
        .filter(([key]) =>
          Object.entries(labels).every(([label, value]) => key.includes(`${label}="${value}"`)),
        )
        .reduce((total, [, value]) => total + value, 0),
  }
}

export const scrape = async (url: string): Promise<Scrape> => {
  // A server may close an idle connection at the moment that it is used again.
  const response = await fetch(url, { headers: { connection: 'close' } })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`no metrics: ${response.status} ${text}`)
  return parseScrape(text)
}
