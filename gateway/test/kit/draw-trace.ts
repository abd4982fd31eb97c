/** Draws a trace as an image: one bar for each span, in the order in which they begin, indented below their parents. */
import type { ReceivedSpan } from './otlp-receiver.ts'

interface Row {
  span: ReceivedSpan
  depth: number
}

const width = 1_280
const rowHeight = 26
const labelWidth = 330
const barsWidth = 780
const top = 74
const rowsMax = 60
const marks = 6

const colors: Record<string, string> = { 'kinora-api': '#3b6fd4', 'kinora-worker': '#2f9e6e' }
const otherColor = '#8a8f98'
const failedColor = '#cf4a3c'

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0) ?? 0};`)

/** Every span below its parent. A span whose parent is missing is a root. */
const orderSpans = (spans: ReceivedSpan[]): Row[] => {
  const known = new Set(spans.map(({ spanId }) => spanId))
  const childrenOf = (parent: string | undefined) =>
    spans
      .filter(({ parentSpanId }) =>
        parent === undefined
          ? parentSpanId === undefined || !known.has(parentSpanId)
          : parentSpanId === parent,
      )
      .toSorted((one, other) => one.startMs - other.startMs || other.endMs - one.endMs)
  const below = (parent: string | undefined, depth: number): Row[] =>
    childrenOf(parent).flatMap((span) => [{ span, depth }, ...below(span.spanId, depth + 1)])
  return below(undefined, 0)
}

const formatMs = (ms: number) => (ms >= 1_000 ? `${(ms / 1_000).toFixed(2)} s` : `${ms.toFixed(1)} ms`)

export const drawTrace = (title: string, spans: ReceivedSpan[]): string => {
  const rows = orderSpans(spans).slice(0, rowsMax)
  const startMs = Math.min(...rows.map(({ span }) => span.startMs))
  const endMs = Math.max(...rows.map(({ span }) => span.endMs))
  const x = (ms: number) => labelWidth + ((ms - startMs) / Math.max(1, endMs - startMs)) * barsWidth
  const height = top + rows.length * rowHeight + 20
  const text = (left: number, at: number, content: string, more = '') =>
    `<text x="${left.toFixed(1)}" y="${at}" ${more}>${escaped(content)}</text>`
  const lines = Array.from({ length: marks + 1 }, (_, index) => {
    const ms = startMs + ((endMs - startMs) * index) / marks
    return `<line x1="${x(ms)}" y1="${top - 8}" x2="${x(ms)}" y2="${height - 12}" stroke="#e3e6ea"/>${text(x(ms), top - 14, formatMs(ms - startMs), 'fill="#6b7280" font-size="12" text-anchor="middle"')}`
  })
  const drawn = rows.map(({ span, depth }, index) => {
    const at = top + index * rowHeight
    const color = span.isError ? failedColor : (colors[span.service] ?? otherColor)
    const left = x(span.startMs)
    const wide = Math.max(2, x(span.endMs) - left)
    const status = span.attributes['http.response.status_code']
    const label = status === undefined ? span.name : `${span.name} → ${status}`
    return [
      text(16 + depth * 18, at + 17, label, 'fill="#111827" font-size="14"'),
      `<rect x="${left.toFixed(1)}" y="${at + 6}" width="${wide.toFixed(1)}" height="14" rx="2" fill="${color}"/>`,
      text(
        width - 16,
        at + 17,
        formatMs(span.endMs - span.startMs),
        'fill="#374151" font-size="12" text-anchor="end"',
      ),
    ].join('')
  })
  const services = [...new Set(rows.map(({ span }) => span.service))].toSorted()
  const legend = services.map(
    (service, index) =>
      `<rect x="${width - 330 + index * 160}" y="16" width="12" height="12" rx="2" fill="${colors[service] ?? otherColor}"/>${text(width - 312 + index * 160, 27, service, 'fill="#374151" font-size="13"')}`,
  )
  const stripes = rows.map((_, index) =>
    index % 2 === 0
      ? `<rect x="0" y="${top + index * rowHeight}" width="${width}" height="${rowHeight}" fill="#f7f8fa"/>`
      : '',
  )
  const parts = [
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(16, 28, title, 'fill="#111827" font-size="18" font-weight="600"'),
    ...legend,
    ...stripes,
    ...lines,
    ...drawn,
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="Inter, sans-serif">${parts.join('')}</svg>`
}
