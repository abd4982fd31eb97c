/** Charts as SVG: stacked bars, lines on logarithmic axes, and shares over time. */

export interface Bar {
  label: string
  parts: Record<string, number>
}

export interface Line {
  label: string
  points: { x: number; y: number }[]
}

const colours = ['#4269d0', '#efb118', '#ff725c', '#6cc5b0', '#9c6b4e', '#97bbf5']
const width = 760
const left = 190
const right = 40
const textStyle = 'font-family="system-ui, sans-serif" font-size="12" fill="#222"'

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const text = (x: number, y: number, content: string, anchor = 'start', more = '') =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" ${more}>${escaped(content)}</text>`
const colourOf = (index: number) => colours[index % colours.length] ?? '#888'
/** At most three digits. */
const short = (value: number) => String(Number(value.toPrecision(value >= 100 ? 4 : 2)))

const svg = (height: number, title: string, content: string[]): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" ${textStyle}>`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text(12, 22, title, 'start', 'font-size="15" font-weight="600"'),
    ...content,
    '</svg>\n',
  ].join('\n')

const legend = (names: string[], y: number): string[] =>
  names.flatMap((name, index) => {
    const x = left + index * 115
    return [
      `<rect x="${x}" y="${y - 9}" width="10" height="10" fill="${colourOf(index)}"/>`,
      text(x + 15, y, name),
    ]
  })

export const stackedBars = (title: string, unit: string, bars: Bar[]): string => {
  const names = [...new Set(bars.flatMap(({ parts }) => Object.keys(parts)))]
  const sumOf = ({ parts }: Bar) => Object.values(parts).reduce((sum, value) => sum + value, 0)
  const most = Math.max(...bars.map(sumOf))
  const scale = (width - left - right - 60) / most
  const rows = bars.flatMap((bar, row) => {
    const y = 62 + row * 26
    let x = left
    const parts = names.map((name, index) => {
      const size = (bar.parts[name] ?? 0) * scale
      const part = `<rect x="${x.toFixed(1)}" y="${y}" width="${size.toFixed(1)}" height="18" fill="${colourOf(index)}"/>`
      x += size
      return part
    })
    return [
      text(left - 8, y + 13, bar.label, 'end'),
      ...parts,
      text(x + 6, y + 13, `${short(sumOf(bar))} ${unit}`),
    ]
  })
  return svg(74 + bars.length * 26, title, [...legend(names, 46), ...rows])
}

/** Powers of ten between two values. */
const decades = (min: number, max: number): number[] => {
  const from = Math.floor(Math.log10(min))
  return Array.from({ length: Math.ceil(Math.log10(max)) - from + 1 }, (_, index) => 10 ** (from + index))
}

export const logLines = (title: string, axes: { x: string; y: string }, series: Line[]): string => {
  const height = 380
  const [top, bottom] = [70, 50]
  const points = series.flatMap((line) => line.points)
  const xs = decades(Math.min(...points.map(({ x }) => x)), Math.max(...points.map(({ x }) => x)))
  const ys = decades(Math.min(...points.map(({ y }) => y)), Math.max(...points.map(({ y }) => y)))
  const place = (value: number, ticks: number[], from: number, to: number) => {
    const [low, high] = [Math.log10(ticks[0] ?? 1), Math.log10(ticks.at(-1) ?? 10)]
    return from + ((Math.log10(value) - low) / Math.max(1, high - low)) * (to - from)
  }
  const atX = (x: number) => place(x, xs, 70, width - 200)
  const atY = (y: number) => place(y, ys, height - bottom, top)
  const grid = [
    ...ys.flatMap((y) => [
      `<line x1="70" x2="${width - 200}" y1="${atY(y)}" y2="${atY(y)}" stroke="#ddd"/>`,
      text(62, atY(y) + 4, short(y), 'end'),
    ]),
    ...xs.map((x) => text(atX(x), height - bottom + 18, x.toLocaleString('en'), 'middle')),
    text((width - 130) / 2, height - 12, axes.x, 'middle'),
    text(12, 50, axes.y),
  ]
  const drawn = series.flatMap(({ label, points: own }, index) => {
    const path = own.map(({ x, y }) => `${atX(x).toFixed(1)},${atY(y).toFixed(1)}`).join(' ')
    const last = own.at(-1)
    return [
      `<polyline points="${path}" fill="none" stroke="${colourOf(index)}" stroke-width="2"/>`,
      ...own.map(
        ({ x, y }) =>
          `<circle cx="${atX(x).toFixed(1)}" cy="${atY(y).toFixed(1)}" r="3" fill="${colourOf(index)}"/>`,
      ),
      `<rect x="${width - 190}" y="${top + index * 20 - 9}" width="10" height="10" fill="${colourOf(index)}"/>`,
      text(width - 174, top + index * 20, `${label} (${last === undefined ? '' : short(last.y)})`),
    ]
  })
  return svg(height, title, [...grid, ...drawn])
}

export interface SharePanel {
  label: string
  /** Shares of each name from this time on, for one step. */
  steps: { seconds: number; shares: Record<string, number> }[]
}

/** One panel per row, with the shares stacked over a common time axis, and vertical lines at the marks. */
export const sharesOverTime = (
  title: string,
  panels: SharePanel[],
  stepSeconds: number,
  marks: { seconds: number; label: string }[],
): string => {
  const [panelHeight, gap, top] = [64, 18, 78]
  const steps = panels.flatMap((panel) => panel.steps)
  const names = [...new Set(steps.flatMap(({ shares }) => Object.keys(shares)))]
  const from = Math.min(...steps.map(({ seconds }) => seconds))
  const until = Math.max(...steps.map(({ seconds }) => seconds)) + stepSeconds
  const atX = (seconds: number) => left + ((seconds - from) / (until - from)) * (width - left - right)
  const bottom = top + panels.length * (panelHeight + gap) - gap
  const drawn = panels.flatMap((panel, row) => {
    const y = top + row * (panelHeight + gap)
    const bars = panel.steps.flatMap(({ seconds, shares }) => {
      let filled = 0
      return names.map((name, index) => {
        const height = (shares[name] ?? 0) * panelHeight
        filled += height
        const [x, size] = [atX(seconds), atX(seconds + stepSeconds) - atX(seconds)]
        return `<rect x="${x.toFixed(1)}" y="${(y + panelHeight - filled).toFixed(1)}" width="${size.toFixed(1)}" height="${height.toFixed(1)}" fill="${colourOf(index)}"/>`
      })
    })
    return [
      `<rect x="${left}" y="${y}" width="${width - left - right}" height="${panelHeight}" fill="#f4f4f4"/>`,
      text(left - 8, y + panelHeight / 2 + 4, panel.label, 'end'),
      ...bars,
    ]
  })
  const lines = marks.flatMap(({ seconds, label }) => [
    `<line x1="${atX(seconds).toFixed(1)}" x2="${atX(seconds).toFixed(1)}" y1="${top - 6}" y2="${bottom}" stroke="#222" stroke-dasharray="4 3"/>`,
    text(atX(seconds), top - 10, label, 'middle'),
  ])
  const firstTick = Math.ceil(from / 30) * 30
  const ticks = Array.from(
    { length: Math.floor((until - firstTick) / 30) + 1 },
    (_, index) => firstTick + index * 30,
  )
  const axis = ticks.map((seconds) => text(atX(seconds), bottom + 18, `${seconds} s`, 'middle'))
  return svg(bottom + 30, title, [...legend(names, 44), ...drawn, ...lines, ...axis])
}
