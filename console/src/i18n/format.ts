/** Amounts, times, sizes and durations as text, in the language of the console. */
import { language, locale } from './language.ts'

const cache = new Map<string, Intl.NumberFormat>()

const numberFormat = (options: Intl.NumberFormatOptions): Intl.NumberFormat => {
  const key = JSON.stringify(options)
  const known = cache.get(key)
  if (known !== undefined) return known
  const made = new Intl.NumberFormat(locale, options)
  cache.set(key, made)
  return made
}

/** `1.00 USD`. Amounts below a hundredth keep the digits that they have. */
export const formatMoney = (micros: number, currency: string): string => {
  const digits = micros % 10_000 === 0 ? 2 : micros % 100 === 0 ? 4 : 6
  const options = { minimumFractionDigits: 2, maximumFractionDigits: digits }
  return `${numberFormat(options).format(micros / 1_000_000)} ${currency}`
}

export const formatNumber = (value: number, digits = 0): string =>
  numberFormat({ maximumFractionDigits: digits }).format(value)

/** `50 %`, with the space that progress is written with. */
export const formatPercent = (share: number): string =>
  `${numberFormat({ maximumFractionDigits: share > 0 && share < 0.1 ? 1 : 0 }).format(share * 100)} %`

/** The symbols of the units, which Intl has no form of. */
const durationUnits = {
  en: { millisecond: 'ms', second: 's', minute: 'min', hour: 'h', day: 'd' },
  zh: { millisecond: '毫秒', second: '秒', minute: '分', hour: '小时', day: '天' },
}

/** `400 ms`, `41 s`, `2 min 5 s`, `3 h 20 min`. */
export const formatDuration = (ms: number): string => {
  const unit = (value: number, name: keyof (typeof durationUnits)['en'], digits = 0) =>
    `${formatNumber(value, digits)} ${durationUnits[language][name]}`
  if (ms < 1_000) return unit(Math.round(ms), 'millisecond')
  const seconds = ms / 1_000
  if (seconds < 59.5) return unit(seconds, 'second', seconds < 10 ? 1 : 0)
  const minutes = Math.floor(Math.round(seconds) / 60)
  if (minutes < 60) {
    const rest = Math.round(seconds) % 60
    return rest === 0 ? unit(minutes, 'minute') : `${unit(minutes, 'minute')} ${unit(rest, 'second')}`
  }
  const hours = Math.floor(minutes / 60)
  if (hours < 48)
    return minutes % 60 === 0 ? unit(hours, 'hour') : `${unit(hours, 'hour')} ${unit(minutes % 60, 'minute')}`
  return unit(Math.round(hours / 24), 'day')
}

export const formatBytes = (bytes: number): string => {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte']
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return numberFormat({
    ...{ style: 'unit', unit: units[power] ?? 'byte', unitDisplay: 'short' },
    maximumFractionDigits: power === 0 ? 0 : 1,
  }).format(bytes / 1000 ** power)
}

const timeFormat = new Intl.DateTimeFormat(locale, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const dayFormat = new Intl.DateTimeFormat(locale, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})
const yearFormat = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', year: 'numeric' })
const dateFormat = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', year: 'numeric' })

/** The time of today, otherwise with the day, and beyond half a year only the day. Times are Unix seconds. */
export const formatTime = (seconds: number, now = Date.now()): string => {
  const date = new Date(seconds * 1_000)
  if (date.toDateString() === new Date(now).toDateString()) return timeFormat.format(date)
  return Math.abs(now - date.getTime()) < 180 * 86_400_000 ? dayFormat.format(date) : yearFormat.format(date)
}

const clockFormat = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

/** `14:05`, for axes and cells within one day. */
export const formatClock = (seconds: number): string => clockFormat.format(new Date(seconds * 1_000))

export const formatDate = (seconds: number): string => dateFormat.format(new Date(seconds * 1_000))

/** For the tooltip of a local time. */
export const formatUtc = (seconds: number): string =>
  new Date(seconds * 1_000)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, '')

const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' })

/** `12 s ago`, `in 3 days`. */
export const formatAge = (seconds: number, now = Date.now()): string => {
  const difference = seconds - now / 1_000
  const steps: [number, Intl.RelativeTimeFormatUnit, number][] = [
    [60, 'second', 1],
    [3_600, 'minute', 60],
    [86_400, 'hour', 3_600],
    [Infinity, 'day', 86_400],
  ]
  const [, unit, size] = steps.find(([limit]) => Math.abs(difference) < limit) ?? [0, 'day', 86_400]
  // English abbreviates otherwise than the durations: `12 sec. ago`.
  return relative
    .format(Math.trunc(difference / size), unit)
    .replace('.', '')
    .replace(/\bsec\b/, 's')
}

/** Ids are shown short and copied whole. */
export const shortenId = (id: string): string => {
  const last = id.split(/[:-]/).at(-1) ?? id
  return id.length <= 16 ? id : last.length >= 6 ? last.slice(-12) : id.slice(-12)
}
