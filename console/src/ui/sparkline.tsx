/** Charts without axes, the width of their place: the shape of a series, and counts. */
import styles from './sparkline.module.css'

const width = 288
const height = 20

/** A value without neighbours is a short line. */
const buildPath = (values: (number | null)[], highest: number): string => {
  const step = width / Math.max(1, values.length)
  return values
    .map((value, index) => {
      if (value === null) return ''
      const x = (index * step).toFixed(1)
      const y = (height - 1 - (value / highest) * (height - 2)).toFixed(1)
      const isFirst = (values[index - 1] ?? null) === null
      return isFirst ? `M${x} ${y}h${step.toFixed(1)}` : `L${x} ${y}`
    })
    .join('')
}

/** A line with gaps where there is no value. */
export const TrendLine = ({ values, label }: { values: (number | null)[]; label: string }) => {
  const path = buildPath(values, Math.max(1, ...values.map((value) => value ?? 0)))
  return (
    <svg
      className={styles['picture']}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path d={`M0 ${height - 0.5}H${width}`} className={styles['ground']} />
      <path d={path} className={styles['line']} />
    </svg>
  )
}

interface CountBarsProps {
  values: number[]
  label: string
  color?: 'red' | 'grey'
}

/** Few bars are easier to see than many. */
const barsMax = 36

const sumInGroups = (values: number[]): number[] => {
  const size = Math.max(1, Math.ceil(values.length / barsMax))
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size).reduce((sum, value) => sum + value, 0),
  )
}

export const CountBars = ({ values, label, color = 'grey' }: CountBarsProps) => {
  const groups = sumInGroups(values)
  const highest = Math.max(1, ...groups)
  const step = width / Math.max(1, groups.length)
  const bars = groups
    .map((value, index) => {
      if (value === 0) return ''
      const size = Math.max(3, (value / highest) * (height - 1))
      return `M${(index * step).toFixed(1)} ${height}v-${size.toFixed(1)}h${(step * 0.7).toFixed(1)}V${height}z`
    })
    .join('')
  return (
    <svg
      className={styles['picture']}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path d={`M0 ${height - 0.5}H${width}`} className={styles['ground']} />
      <path d={bars} className={styles[color]} />
    </svg>
  )
}
